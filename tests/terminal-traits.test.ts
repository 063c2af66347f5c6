/** What a terminal is taken to be able to do, from its surroundings alone. */
import { expect, test } from "bun:test";
import { terminalTraits } from "../src/terminal-traits.ts";

const TTY = { stdinIsTty: true, stdoutIsTty: true, platform: "linux" };
const UTF8 = { TERM: "xterm-256color", LANG: "en_US.UTF-8" };

test.each([
  ["an ordinary terminal", UTF8, TTY, { plain: false, colour: true, ascii: false }],
  ["TERM=dumb", { ...UTF8, TERM: "dumb" }, TTY, { plain: true, colour: false, ascii: true }],
  ["no TERM", { LANG: "C.UTF-8" }, TTY, { plain: true, colour: false, ascii: true }],
  ["an empty TERM", { ...UTF8, TERM: "" }, TTY, { plain: true, colour: false, ascii: true }],
  ["a piped stdout", UTF8, { ...TTY, stdoutIsTty: false }, { plain: true, colour: false, ascii: true }],
  ["a piped stdin", UTF8, { ...TTY, stdinIsTty: false }, { plain: true, colour: false, ascii: true }],
  ["ACCESSIBLE", { ...UTF8, ACCESSIBLE: "1" }, TTY, { plain: true, colour: false, ascii: true }],
  ["ACCESSIBLE=0", { ...UTF8, ACCESSIBLE: "0" }, TTY, { plain: false, colour: true, ascii: false }],
  ["--plain", UTF8, { ...TTY, plain: true }, { plain: true, colour: false, ascii: true }],
  [
    "--plain and FORCE_COLOR",
    { ...UTF8, FORCE_COLOR: "1" },
    { ...TTY, plain: true },
    { plain: true, colour: false, ascii: true },
  ],
  ["NO_COLOR", { ...UTF8, NO_COLOR: "1" }, TTY, { plain: false, colour: false, ascii: false }],
  ["an empty NO_COLOR", { ...UTF8, NO_COLOR: "" }, TTY, { plain: false, colour: true, ascii: false }],
  ["theme none", UTF8, { ...TTY, theme: "none" as const }, { plain: false, colour: false, ascii: false }],
  ["a serial console", { ...UTF8, TERM: "vt220" }, TTY, { plain: false, colour: false, ascii: false }],
  ["the Linux console", { ...UTF8, TERM: "linux" }, TTY, { plain: false, colour: true, ascii: true }],
  ["LANG=C", { TERM: "xterm", LANG: "C" }, TTY, { plain: false, colour: true, ascii: true }],
  ["LC_ALL over LANG", { ...UTF8, LC_ALL: "C" }, TTY, { plain: false, colour: true, ascii: true }],
  ["no locale on Linux", { TERM: "xterm" }, TTY, { plain: false, colour: true, ascii: true }],
  [
    "no locale on a Mac",
    { TERM: "xterm" },
    { ...TTY, platform: "darwin" },
    { plain: false, colour: true, ascii: false },
  ],
])("%s", (_, env, options, traits) => {
  expect(terminalTraits(env, options)).toMatchObject(traits);
});

test("over SSH bandwidth is saved and escapes get more time", () => {
  const remote = terminalTraits({ ...UTF8, SSH_CONNECTION: "1.2.3.4 5 6.7.8.9 22" }, TTY);
  expect(remote).toMatchObject({ lowBandwidth: true, escTimeoutMs: 200, batchMs: 100 });
  expect(terminalTraits(UTF8, TTY)).toMatchObject({ lowBandwidth: false, escTimeoutMs: 50, batchMs: 30 });
  expect(terminalTraits(UTF8, { ...TTY, lowBandwidth: true, escTimeoutMs: 10 })).toMatchObject({
    lowBandwidth: true,
    escTimeoutMs: 10,
  });
});

test("only terminals known to wrap anew are taken to", () => {
  expect(terminalTraits(UTF8, TTY).reflows).toBe(false);
  expect(terminalTraits({ ...UTF8, TMUX: "/tmp/tmux-0/default,1,0" }, TTY).reflows).toBe(true);
});
