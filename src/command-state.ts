/** Slash commands about what the session holds and what surrounds it: tasks, notes, context, tools, configuration. */
import type { Command, CommandUi } from "./command.ts";
import { diffView } from "./diff-view.ts";
import { originRows } from "./doctor-config.ts";
import { UserError } from "./errors.ts";
import type { Interactive } from "./interactive-host.ts";
import { applyMerge, mergeRequest } from "./memory-merge.ts";
import { tableFor } from "./permission.ts";
import { formatUsd } from "./pricing.ts";
import { coloursOf, contextColour, type Colours } from "./render-colours.ts";
import { todosInWords } from "./render-todos.ts";
import { turnCount } from "./session.ts";
import { renderTodos } from "./todo.ts";
import { jsonSchema } from "./tool-input.ts";
import type { Tool } from "./tool.ts";

const INIT_PROMPT =
  "Write an AGENTS.md for this repository, for coding agents that will work in it. Read what is there first: build files, scripts, tests, conventions, layout. Keep it under 60 lines: how to build, test and check; where things are; the rules that aren't obvious from the code. Nothing generic. If an AGENTS.md exists, improve it instead of replacing it.";

export function stateCommands(host: Interactive): Command[] {
  const memory = () => {
    if (!host.setup.memory) throw new UserError("Memory is off (--no-memory)");
    return host.setup.memory;
  };
  return [
    {
      name: "todos",
      immediate: true,
      args: "",
      summary: "the task list",
      run(_, ui) {
        const { todos } = host.session.parts.file.record.notebook;
        ui.print(ui.traits.plain ? todosInWords(todos) : renderTodos(todos));
      },
    },
    {
      name: "notes",
      immediate: true,
      args: "",
      summary: "what is remembered about this project, with hit counts",
      run(_, ui) {
        const notes = memory().list();
        ui.print(
          notes.length === 0
            ? "No notes yet. #text adds one."
            : notes.map((note) => `${String(note.hits).padStart(4)}  (${note.kind}) ${note.text}`).join("\n"),
        );
      },
    },
    {
      name: "remember",
      args: "<text>",
      summary: "store a note about this project",
      run: async (args, ui) => ui.print(args === "" ? "Usage: /remember text" : await host.remember(args)),
    },
    {
      name: "memory",
      args: "",
      summary: "have the model merge the notes",
      async run(_, ui) {
        const store = memory();
        const request = mergeRequest(store.list());
        if (!request) return ui.print("Nothing to merge.");
        const answer = await host.interruptible((signal) =>
          host.session.helper.ask(request.system, request.prompt, 8000, signal),
        );
        const outcome = await applyMerge(store, request, answer);
        ui.print(
          outcome.state === "merged"
            ? `Notes: ${outcome.before} before, ${outcome.after} now.`
            : `Left as they are: ${outcome.reason}.`,
        );
      },
    },
    {
      name: "context",
      immediate: true,
      args: "",
      summary: "what fills the model's window",
      run: (_, ui) => ui.printStyled(contextReport(host, coloursOf(ui.traits))),
    },
    {
      name: "tools",
      immediate: true,
      args: "",
      summary: "tools with set, decision and bytes on the wire",
      run: (_, ui) => ui.print(toolTable(host)),
    },
    {
      name: "config",
      immediate: true,
      args: "",
      summary: "every setting and where it comes from",
      run: (_, ui) => ui.print(originRows(host.setup.config).join("\n")),
    },
    {
      name: "status",
      immediate: true,
      args: "",
      summary: "session, model, directory, spend",
      run: (_, ui) => ui.print(status(host)),
    },
    {
      name: "history",
      immediate: true,
      args: "",
      summary: "prompts of this directory",
      run: async (_, ui) => ui.print((await host.history.load()).slice(-20).join("\n") || "No prompts yet."),
    },
    {
      name: "diff",
      immediate: true,
      args: "",
      summary: "what this session's file tools changed, as a diff",
      help: "Compares each file as it was before the first change with what is there now. What commands changed is in it only for files the tools changed too.",
      run: (_, ui) => showDiff(host, ui),
    },
    { name: "init", args: "", summary: "have the model write AGENTS.md", run: () => ({ send: INIT_PROMPT }) },
    {
      name: "doctor",
      args: "",
      summary: "check this installation",
      async run(_, ui) {
        const { doctorReport } = await import("./doctor.ts");
        const { query } = host.setup;
        ui.print((await doctorReport({ options: query.options, env: query.env, cwd: query.cwd, online: false })).text);
      },
    },
  ];
}

/** Lines of `/diff`: several screens of scrollback, and no more than a slow link takes in a few seconds. */
const DIFF_LINES = 1000;

async function showDiff(host: Interactive, ui: CommandUi): Promise<void> {
  const { undo } = host.session.parts;
  if (undo === null) return ui.print("An ephemeral session keeps no earlier states, so there is nothing to compare.");
  const { sessionDiff } = await import("./session-diff.ts");
  const diff = await sessionDiff(undo, host.setup.workspace.root);
  if (diff === "") return ui.print("The file tools changed nothing in this session.");
  const { colour, ascii } = ui.traits;
  ui.printStyled(diffView(diff, { colour, ascii, indent: "", maxLines: DIFF_LINES }));
}

function contextReport(host: Interactive, colours: Colours): string {
  const { session } = host;
  const parts = session.promptParts().map((part) => ({ name: part.name, text: part.text }));
  const tools = { name: "tool schemas", text: JSON.stringify(session.toolDefinitions()) };
  const rows = [...parts, tools].map(({ name, text }) => {
    return { name, bytes: Buffer.byteLength(text), tokens: session.parts.meter.text(text) };
  });
  const total = session.history.estimate();
  const threshold = session.threshold();
  const conversation = Math.max(0, total - rows.reduce((sum, row) => sum + row.tokens, 0));
  const share = threshold === null ? "compaction is off" : shareText(total / threshold, threshold, colours);
  return [
    ...rows.map((row) => `${row.name.padEnd(14)} ${String(row.bytes).padStart(7)} bytes  ~${row.tokens} tokens`),
    `${"conversation".padEnd(14)} ${String(session.history.messages.length).padStart(7)} messages  ~${conversation} tokens`,
    `${"next request".padEnd(14)} ~${total} tokens (${share})`,
  ].join("\n");
}

function shareText(share: number, threshold: number, colours: Colours): string {
  return `${contextColour(share, colours)(`~${Math.round(share * 100)} %`)} of ${threshold}`;
}

function toolTable(host: Interactive): string {
  const offered = new Set(host.session.offeredTools());
  return host.setup
    .tools()
    .map(
      (tool) =>
        `${tool.name.padEnd(16)} ${tool.set.padEnd(10)} ${decisionOf(host, tool).padEnd(14)} ${String(wireBytes(tool)).padStart(5)} bytes${offered.has(tool) ? "" : "  (withheld by this agent)"}`,
    )
    .join("\n");
}

function wireBytes(tool: Tool): number {
  return Buffer.byteLength(
    JSON.stringify({
      name: tool.name,
      description: tool.description,
      schema: tool.wireSchema ?? jsonSchema(tool.input),
    }),
  );
}

/** `allow`, or the decisions a table can come to. */
function decisionOf(host: Interactive, tool: Tool): string {
  const { rows } = tableFor(tool.name, host.setup.rules, tool.permission);
  return rows.length === 0 ? "ask" : [...new Set(rows.map((row) => row.decision))].join("/");
}

function status(host: Interactive): string {
  const { session, setup } = host;
  const { record } = session.parts.file;
  return [
    `session   ${record.id}${session.parts.file.degraded ? ` (not being saved: ${session.parts.file.degraded})` : ""}`,
    `directory ${setup.query.cwd}`,
    `model     ${session.choice.model} (${session.choice.presetId}), agent ${session.variant.name}, thinking ${session.thinking}`,
    `turns     ${turnCount(record.messages)}, ${record.inputTokens} in / ${record.outputTokens} out tokens, ${formatUsd(record.costUsd)}`,
  ].join("\n");
}
