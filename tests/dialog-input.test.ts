/** What is typed around the moment a question appears goes where it was meant to go; esc and ctrl-c count at once. */
import { expect, test } from "bun:test";
import { InputRouter } from "../src/dialog-input.ts";
import type { Terminal, TerminalEvent } from "../src/terminal.ts";
import { terminalTraits } from "../src/terminal-traits.ts";

const TTY = { stdinIsTty: true, stdoutIsTty: true, platform: "linux" };

/** A router on a clock that moves when told, with the loop's events written down. */
function open(env: Record<string, string> = {}) {
  let now = 10_000;
  const timers = new Set<{ at: number; run: () => void }>();
  let emit: (event: TerminalEvent) => void = () => undefined;
  const traits = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8", ...env }, TTY);
  const terminal = { traits, onEvent: (receive: typeof emit) => void (emit = receive) };
  // The router asks no more of a terminal before it reads a line.
  const router = new InputRouter(terminal as unknown as Terminal, {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  });
  const typed: string[] = [];
  router.start((event) => void typed.push(event.type === "keys" ? event.keys.map(shown).join("") : event.type));
  return {
    router,
    typed,
    press: (id: string) =>
      emit({ type: "keys", keys: [id.length === 1 ? { type: "text", text: id } : { type: "key", id }] }),
    emit: (event: TerminalEvent) => emit(event),
    async advance(ms: number) {
      for (const end = now + ms; now < end; now += 10) {
        for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
        await Promise.resolve();
      }
      await Bun.sleep(0);
    },
  };
}

function shown(key: { type: string; text?: string; id?: string }): string {
  return key.text ?? `<${key.id}>`;
}

/** Its value once it is settled. */
function watch<T>(promise: Promise<T>): { value: T | "open" } {
  const state: { value: T | "open" } = { value: "open" };
  void promise.then((value) => (state.value = value));
  return state;
}

test("with nobody typing a question waits for a moment only", async () => {
  const { router, advance } = open();
  const quiet = watch(router.quiet(false));
  await advance(120);
  expect(quiet.value).toBe(true);
});

test("a draft that is being typed holds a question back until the typing stops, though not for ever", async () => {
  const { router, typed, press, advance } = open();
  press("a");
  const quiet = watch(router.quiet(true));
  for (const letter of "bcd") {
    await advance(200);
    press(letter);
  }
  expect(quiet.value).toBe("open");
  await advance(400);
  expect(quiet.value).toBe(true);
  expect(typed.join("")).toBe("abcd");
  const another = watch(router.quiet(true));
  for (let at = 0; at < 40; at++) {
    press("x");
    await advance(100);
  }
  expect(another.value).toBe(true);
});

test.each(["escape", "ctrl-c"])("%s before a question is printed makes it unwanted", async (key) => {
  const { router, typed, press, advance } = open();
  press("a");
  const quiet = watch(router.quiet(true));
  await advance(100);
  press(key);
  await advance(500);
  expect(quiet.value).toBe(false);
  // The loop has it, too: it is the loop that ends the turn.
  expect(typed).toEqual(["a", `<${key}>`]);
});

test("a question that was printed takes no key until nobody has typed for a while", async () => {
  const { router, typed, press, advance } = open();
  const seen = watch(router.seen());
  for (const key of ["y", "e", "enter"]) {
    await advance(200);
    press(key);
  }
  expect(seen.value).toBe("open");
  await advance(320);
  expect(seen.value).toBe(true);
  expect(typed).toEqual(["y", "e", "<enter>"]);
});

test("over SSH it takes longer: text and keys are on their way", async () => {
  const { router, advance } = open({ SSH_TTY: "/dev/pts/1" });
  const seen = watch(router.seen());
  await advance(500);
  expect(seen.value).toBe("open");
  await advance(300);
  expect(seen.value).toBe(true);
});

test.each<[string, TerminalEvent, boolean]>([
  ["esc", { type: "keys", keys: [{ type: "key", id: "escape" }] }, false],
  ["ctrl-c", { type: "interrupt" }, false],
  ["the end of input", { type: "end", hangup: true }, true],
])("%s is not waited for", async (_, event, expected) => {
  const { router, emit, advance } = open();
  const seen = watch(router.seen());
  await advance(50);
  emit(event);
  await advance(10);
  expect(seen.value).toBe(expected);
});
