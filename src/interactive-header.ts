/** What an interactive session says first and last: who answers, where, what was loaded, what asks; and how to come back. Untrusted names are sanitised by the printer. */
import { relative } from "node:path";
import { answerText, isPrompt, promptText } from "./message.ts";
import { formatUsd } from "./pricing.ts";
import { tokens } from "./render-lines.ts";
import type { SessionRecord } from "./session-record.ts";
import type { Setup } from "./setup.ts";
import { oneLine } from "./text.ts";
import { VERSION } from "./version.ts";

/** Enough of an id to find its session again: its first 48 bits are the time in milliseconds. */
const ID_CHARS = 13;

export function headerLines(setup: Setup): string[] {
  const { session, query } = setup;
  const { choice, variant, thinking } = session;
  return [
    `shiro ${VERSION}, ${choice.model} (${choice.presetId}), session ${session.id.slice(0, ID_CHARS)}`,
    `agent ${variant.name}, thinking ${thinking}, approvals ${query.options.yolo ? "off (--yolo)" : "on"}, sandbox ${confined(setup)}; ${loaded(setup)}`,
    `${query.cwd}; /help lists commands, ctrl-d leaves`,
    ...recapLines(session.parts.file.record),
    ...setup.notices.map(({ level, message }) => (level === "warning" ? `warning: ${message}` : message)),
  ];
}

type Spent = Pick<SessionRecord, "id" | "inputTokens" | "outputTokens" | "costUsd" | "messages">;

/** `unsaved`: why there is nothing to come back to; null when there is. */
export function farewellLines(record: Spent, unsaved: string | null): string[] {
  if (record.messages.length === 0) return [];
  const spent = `${tokens(record.inputTokens)} in, ${tokens(record.outputTokens)} out, ${formatUsd(record.costUsd)}`;
  if (unsaved !== null) return [`${spent}; the session is not saved (${unsaved})`];
  return [`session ${record.id}: ${spent}`, `to go on: shiro -r ${record.id.slice(0, ID_CHARS)}`];
}

/** As far as is known without a test: the first command makes that, and says so when there is none. */
function confined({ sandbox }: Setup): "on" | "off" {
  return sandbox.status().state === "off" ? "off" : "on";
}

/** Tool sets, plugins, skills beside the builtin ones, and instruction files; the last by their path as seen from here. */
function loaded({ session, tools: every, plugins, query, mcp, extensions }: Setup): string {
  const sets = [...new Set(every().map((tool) => tool.set))].filter((set) => set !== "session");
  const names = plugins.plugins.map((plugin) => plugin.name);
  const { instructions } = session.parts.promptState([], session.variant);
  const files = instructions.map(({ path }) => {
    const near = relative(query.cwd, path);
    return near.startsWith("../../") ? path : near;
  });
  const servers = mcp.reach?.states().map((state) => state.name) ?? [];
  const own = extensions.skills().list.filter((skill) => skill.source !== "builtin");
  return [
    `tools ${sets.join(" ")}`,
    `plugins ${names.join(" ") || "none"}`,
    ...(own.length > 0 ? [`skills ${oneLine(own.map((skill) => skill.name).join(" "), 120)}`] : []),
    ...(servers.length > 0 ? [`mcp ${servers.join(" ")}`] : []),
    ...(files.length > 0 ? [`instructions ${files.join(" ")}`] : []),
  ].join("; ");
}

/** What a resumed session was about; empty for a new one. */
export function recapLines(record: Pick<SessionRecord, "title" | "messages">): string[] {
  const prompts = record.messages.filter(isPrompt);
  const last = prompts.at(-1);
  if (!last) return [];
  const answers = record.messages.slice(record.messages.lastIndexOf(last)).map(answerText).filter(Boolean);
  const turns = `${prompts.length} ${prompts.length === 1 ? "turn" : "turns"}`;
  return [
    `resumed: ${oneLine(record.title, 60)} (${turns})`,
    `  last prompt: ${oneLine(promptText(last), 200)}`,
    ...answers.slice(-1).map((text) => `  last answer: ${oneLine(text, 400)}`),
  ];
}
