/** Slash commands are found by name, prefix or after a typo; help and completion come from the commands themselves. */
import { expect, test } from "bun:test";
import type { Command, CommandUi } from "../src/command.ts";
import { modelCommands } from "../src/command-model.ts";
import { viewCommands } from "../src/command-view.ts";
import { CommandSet, parseCommand } from "../src/commands.ts";
import { UserError } from "../src/errors.ts";
import type { Interactive } from "../src/interactive-host.ts";
import { slashCommands } from "../src/slash-commands.ts";
import { terminalTraits } from "../src/terminal-traits.ts";
import { THINKING_LEVELS } from "../src/types.ts";

function command(name: string, more: Partial<Command> = {}): Command {
  return { name, args: "", summary: `does ${name}`, run: (args, ui) => ui.print(`${name}(${args})`), ...more };
}

const set = new CommandSet(() => [
  command("model", { args: "[name]", complete: () => ["alpha", "beta"], help: "More about models." }),
  command("models"),
  command("think"),
  command("mine", { group: "custom" }),
  command("model", { summary: "a later one of the same name" }),
]);

test.each([
  ["/model", { name: "model", args: "" }],
  ["  /think  high ", { name: "think", args: "high" }],
  ["/init a\nb", { name: "init", args: "a\nb" }],
  ["/skill:debug x", { name: "skill:debug", args: "x" }],
  ["/?", null],
  ["/usr/bin/node crashes", null],
  ["// comment", null],
  ["/", null],
  ["say /model", null],
])("%j is %j", (line, parsed) => {
  expect(parseCommand(line)).toEqual(parsed);
});

test.each([
  ["model", "model"],
  ["models", "models"],
  ["th", "think"],
  ["TH", "think"],
])("/%s is %s", (name, found) => {
  expect(set.find(name).name).toBe(found);
});

test.each([
  ["mo", "/mo could be /model, /models"],
  ["thnik", "No command /thnik. Did you mean /think?"],
  ["zzzzzzzz", "No command /zzzzzzzz. /help lists them."],
])("/%s is refused: %s", (name, message) => {
  expect(() => set.find(name)).toThrow(new UserError(message));
});

test("only commands that look may run at once, and only by a clear name", () => {
  const mixed = new CommandSet(() => [command("last", { immediate: true }), command("think"), command("lasting")]);
  const isImmediate = (name: string) => mixed.isImmediate({ name, args: "" });
  expect(["last", "la", "think", "nothing"].map(isImmediate)).toEqual([true, false, false, false]);
});

test("the first of a name wins", () => {
  expect(
    set
      .all()
      .filter((one) => one.name === "model")
      .map((one) => one.summary),
  ).toEqual(["does model"]);
});

test("of the real commands none is near to /bogus, and the list is pointed to", () => {
  const extensions = { skills: () => ({ list: [] }), commands: () => ({ list: [] }) };
  const host = { setup: { extensions } } as unknown as Interactive; // none of them is run
  expect(() => new CommandSet(() => slashCommands(host)).find("bogus")).toThrow(
    new UserError("No command /bogus. /help lists them."),
  );
});

test("the real commands are all there, each declared once", () => {
  const extensions = { skills: () => ({ list: [] }), commands: () => ({ list: [] }) };
  const host = { setup: { extensions } } as unknown as Interactive; // none of them is run
  const names = slashCommands(host).map((one) => one.name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  const expected =
    "help agent think provider models model skills plugins registry mcp init context config permissions todos notes memory remember tools compact cost sessions resume fork undo redo save export diff copy last queue history clear status doctor exit";
  expect(expected.split(" ").filter((name) => !names.includes(name))).toEqual([]);
});

test("a command that takes no argument does nothing with one; one of the user's own may take what it doesn't announce", async () => {
  const ran: string[] = [];
  const run = (args: string) => void ran.push(args);
  const commands = new CommandSet(() => [
    { name: "clear", args: "", summary: "", run },
    { name: "mine", args: "", summary: "", group: "custom", run },
  ]);
  const ui = {} as unknown as CommandUi; // neither of them uses it
  expect(commands.run({ name: "cl", args: "all of it" }, ui)).rejects.toThrow(
    new UserError("/clear takes no argument. Nothing was done."),
  );
  await commands.run({ name: "mine", args: "all of it" }, ui);
  await commands.run({ name: "clear", args: "" }, ui);
  expect(ran).toEqual(["all of it", ""]);
});

test("values are sorted, except where their order says something", async () => {
  const levels = new CommandSet(() => [
    command("think", { complete: () => ["off", "low", "high"], ordered: true }),
    command("agent", { complete: () => ["plan", "default"] }),
    ...modelCommands({} as Interactive).map((one) => ({ ...one, name: `real-${one.name}` })), // only asked for levels
  ]);
  expect(await levels.values("think")).toEqual(["off", "low", "high"]);
  expect(await levels.values("agent")).toEqual(["default", "plan"]);
  expect(await levels.values("real-think")).toEqual(THINKING_LEVELS);
});

test("arguments complete from what the command declares", async () => {
  expect(await set.values("model")).toEqual(["alpha", "beta"]);
  expect(await set.values("think")).toEqual([]);
  expect(await set.values("nothing")).toEqual([]);
});

test("the overview has every command once, in groups", () => {
  expect(set.overview()).toBe(
    "commands:\n  /model [name]  does model\n  /models        does models\n  /think         does think\ncustom commands:\n  /mine          does mine\n",
  );
});

test("help on a command is its usage, summary and help", () => {
  expect(set.helpFor("/model")).toBe("/model [name]\ndoes model\n\nMore about models.");
});

const TRAITS = terminalTraits({ TERM: "xterm" }, { stdinIsTty: true, stdoutIsTty: true, platform: "linux" });

async function runView(line: string, view: Partial<CommandUi["view"]> = {}, takesEscapes = true) {
  const printed: string[] = [];
  const copied: string[] = [];
  const commands: CommandSet = new CommandSet(() =>
    viewCommands(() => commands, { names: () => ["keys"], text: (name) => (name === "keys" ? "about keys" : null) }),
  );
  const ui = {
    print: (text: string) => printed.push(text),
    printStyled: (text: string) => printed.push(text),
    traits: TRAITS,
    columns: () => 80,
    copy: (text: string) => takesEscapes && copied.push(text) > 0,
    view: { queued: () => [], lastOutput: () => null, lastAnswer: () => null, ...view },
  };
  const parsed = parseCommand(line);
  if (!parsed) throw new Error("no command");
  // These commands use nothing else of the screen.
  const outcome = await commands.run(parsed, ui as unknown as CommandUi);
  return { printed: printed.join("\n"), copied, outcome };
}

test("/help lists commands, keys and topics; /help topic shows it", async () => {
  const { printed } = await runView("/help");
  for (const part of ["/queue", "/last", "ctrl-r", "topics: keys"]) expect(printed).toContain(part);
  expect((await runView("/help keys")).printed).toBe("about keys\n");
  expect((await runView("/help last")).printed).toContain("/last");
  expect(runView("/help nonsense")).rejects.toThrow(UserError);
});

test("/last shows the whole output, safe", async () => {
  expect((await runView("/last", { lastOutput: () => "\x1b[31ma\x1b[m\x1b[2J\nb" })).printed).toBe("a\\x1b[2J\nb\n");
  expect((await runView("/last")).printed).toBe("no output yet");
});

test("/help on something unknown names the nearest topic or command", () => {
  expect(runView("/help kyes")).rejects.toThrow('No topic or command "kyes". Did you mean /help keys?');
  expect(runView("/help qqqqqq")).rejects.toThrow('No topic or command "qqqqqq". /help lists them.');
});

test("/copy takes the last answer, or says that it can't", async () => {
  expect((await runView("/copy", { lastAnswer: () => "answer" })).copied).toEqual(["answer"]);
  expect((await runView("/copy output", { lastOutput: () => "out" })).copied).toEqual(["out"]);
  expect(runView("/copy")).rejects.toThrow("nothing to copy");
  expect(runView("/copy", { lastAnswer: () => "x" }, false)).rejects.toThrow("no escape sequences");
});

test("/queue lists what waits, /exit leaves", async () => {
  expect((await runView("/queue", { queued: () => ["a", "b"] })).printed).toBe("1. a\n2. b");
  expect((await runView("/exit")).outcome).toEqual({ exit: 0 });
});
