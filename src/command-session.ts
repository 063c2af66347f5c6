/** Slash commands about sessions: listing, resuming, forking, exporting, undoing, compacting; and the table `shiro sessions` prints. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command, CommandUi } from "./command.ts";
import { UserError, messageOf } from "./errors.ts";
import type { Interactive } from "./interactive-host.ts";
import { openCallsNote } from "./loop-open.ts";
import { isPrompt, promptText } from "./message.ts";
import { formatUsd } from "./pricing.ts";
import { exportJson, exportMarkdown } from "./session-export.ts";
import type { SessionHeader } from "./session-record.ts";
import { turnCount } from "./session.ts";
import { findSessions, forkSession, listSessions, openSession } from "./sessions.ts";
import { oneLine } from "./text.ts";
import type { UndoResult } from "./undo.ts";
import type { PromptPlace } from "./wire-history-undo.ts";

const LISTED = 15;

/** The newest sessions of a directory, one line each; unreadable files named. */
export function sessionTable(home: string, project: string, now: Date): string {
  const { sessions, unreadable } = listSessions(home, { cwd: project, limit: LISTED });
  const rows = sessions.map((session) => `${session.id}  ${sessionLine(session, now)}`);
  const broken = unreadable.map(({ path, reason }) => `unreadable: ${path} (${reason})`);
  if (rows.length + broken.length === 0) return "No sessions of this directory yet.";
  return [...rows, ...broken].join("\n");
}

/** All sessions of a directory as a JSON array, newest first, without their transcripts. */
export function sessionJson(home: string, project: string): string {
  const { sessions } = listSessions(home, { cwd: project });
  return JSON.stringify(
    sessions.map(({ id, title, createdAt, updatedAt, cwd, provider, model, turns, ...rest }) => {
      const { inputTokens, outputTokens, cacheReadTokens, costUsd } = rest;
      const spent = { inputTokens, outputTokens, cacheReadTokens, costUsd };
      return { id, title, createdAt, updatedAt, cwd, provider, model, turns, ...spent };
    }),
  );
}

function sessionLine(session: SessionHeader, now: Date): string {
  const turns = turnsText(session.turns);
  return `${age(now.getTime() - Date.parse(session.updatedAt)).padStart(4)}  ${turns.padEnd(9)}  ${formatUsd(session.costUsd).padEnd(9)}  ${oneLine(session.title, 60)}`;
}

function turnsText(count: number): string {
  return `${count} ${count === 1 ? "turn" : "turns"}`;
}

/** `5m`, `3h`, `12d`. */
function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes}m`;
  return minutes < 60 * 24 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / (60 * 24))}d`;
}

export function sessionCommands(host: Interactive): Command[] {
  const deps = { now: () => new Date(), onNotice: (message: string) => host.notice(message) };
  const idle = (): void => {
    if (host.busy()) throw new UserError("That has to wait until the turn has ended");
  };
  return [
    {
      name: "sessions",
      immediate: true,
      args: "",
      summary: "the last 15 sessions of this directory",
      run: (_, ui) => ui.print(sessionTable(host.setup.home.path, host.setup.project, new Date())),
    },
    {
      name: "resume",
      args: "[id]",
      summary: "go on with another session",
      complete: () =>
        listSessions(host.setup.home.path, { cwd: host.setup.project, limit: LISTED }).sessions.map(
          (session) => session.id,
        ),
      async run(args, ui) {
        idle();
        const id = args === "" ? await pickSession(host, ui) : oneSession(host.setup.home.path, args);
        if (id === null || id === host.session.id) return;
        const opened = openSession(host.setup.home.path, id, deps);
        if ("problem" in opened) throw new UserError(`Session ${id} can't be resumed: ${opened.problem}`);
        host.setup.switchTo(opened.file);
        if (opened.copyOf) ui.print("That session is open in another process; this is a copy of it.");
        ui.print(recap(host));
      },
    },
    {
      name: "save",
      args: "",
      summary: "write the session to disk now",
      async run(_, ui) {
        const problem = await host.session.parts.file.save();
        ui.print(problem ? `Not saved: ${problem.reason}` : `Saved as ${host.session.id}.`);
      },
    },
    {
      name: "fork",
      args: "[turns]",
      summary: "go on in a new session made of the first turns",
      run(args, ui) {
        idle();
        const turns = args === "" ? undefined : Number(args);
        const all = turnCount(host.session.parts.file.record.messages);
        if (turns !== undefined && !(Number.isInteger(turns) && turns >= 0 && turns <= all))
          throw new UserError(`/fork takes a number of turns from 0 to ${all}`);
        const home = host.setup.query.options.ephemeral ? null : host.setup.home.path;
        const before = host.session.id;
        host.setup.switchTo(forkSession(host.session.parts.file, home, deps, turns));
        ui.print(`Forked ${before} into ${host.session.id} with ${turnsText(turns ?? all)}.`);
      },
    },
    {
      name: "export",
      args: "[file.md|file.json]",
      summary: "write the transcript to a file",
      run(args, ui) {
        const name = args === "" ? `shiro-${host.session.id.slice(0, 8)}.md` : args;
        if (!/\.(?:md|markdown|txt|json)$/i.test(name))
          throw new UserError(`/export writes Markdown or JSON: end "${name}" in .md or .json`);
        const { record } = host.session.parts.file;
        const path = resolve(host.setup.query.cwd, name);
        try {
          writeFileSync(path, /\.json$/i.test(name) ? exportJson(record) : exportMarkdown(record), {
            flag: "wx",
            mode: 0o600,
          });
        } catch (error) {
          throw new UserError(`${name} could not be written: ${messageOf(error)}`, { cause: error });
        }
        ui.print(`Written to ${path}.`);
      },
    },
    {
      name: "clear",
      args: "",
      summary: "begin a new transcript; the screen stays",
      run(_, ui) {
        idle();
        const before = host.session.id;
        host.setup.switchTo(host.setup.freshSession());
        ui.print(`New session. The last one is kept: /resume ${before.slice(0, 13)}`);
      },
    },
    {
      name: "compact",
      args: "[focus]",
      summary: "replace the transcript by a summary",
      async run(args, ui) {
        idle();
        if (host.session.parts.file.record.messages.length === 0)
          throw new UserError("There is nothing to compact yet");
        const { before, by } = await host.interruptible((signal) =>
          host.session.compact(args === "" ? null : args, signal),
        );
        ui.print(
          `context compacted: ${before} messages pruned to 1 on the wire${by === "digest" ? " (the model gave no summary; this is a digest)" : ""}`,
        );
      },
    },
    {
      name: "undo",
      args: "[files|chat|both] [--force]",
      summary: "take back the last prompt's file changes, the conversation, or both",
      complete: () => ["files", "chat", "both"],
      run: (args, ui) => (idle(), undo(host, ui, args)),
    },
    {
      name: "redo",
      args: "[--force]",
      summary: "reverse the last /undo",
      run: (args, ui) => (idle(), redo(host, ui, args.includes("--force"))),
    },
  ];
}

async function pickSession(host: Interactive, ui: CommandUi): Promise<string | null> {
  const { sessions } = listSessions(host.setup.home.path, { cwd: host.setup.project, limit: LISTED });
  if (sessions.length === 0) throw new UserError("There are no sessions of this directory yet");
  return ui.dialog.pick(
    "Resume which session?",
    sessions.map((session) => ({
      value: session.id,
      label: session.id.slice(0, 13),
      detail: sessionLine(session, new Date()).trim(),
    })),
  );
}

function oneSession(home: string, prefix: string): string {
  const ids = findSessions(home, prefix);
  const [id] = ids;
  if (id === undefined) throw new UserError(`No session begins with "${prefix}"`);
  if (ids.length > 1) throw new UserError(`Several sessions begin with "${prefix}": ${ids.slice(0, 8).join(", ")}`);
  return id;
}

/** What a resumed session was about: its title, the last prompt and answer. */
function recap(host: Interactive): string {
  const { record } = host.session.parts.file;
  const last = record.messages.findLast(isPrompt);
  const open = openCallsNote(host.session.parts.file);
  return [
    `Resumed ${record.id}: ${oneLine(record.title, 60)} (${turnsText(turnCount(record.messages))})`,
    ...(last ? [`Last prompt: ${oneLine(promptText(last), 200)}`] : []),
    ...(open === null ? [] : [open]),
  ].join("\n");
}

type Scope = "files" | "chat" | "both";

async function undo(host: Interactive, ui: CommandUi, args: string): Promise<void> {
  const force = args.includes("--force");
  const word = args.replace("--force", "").trim();
  const scope =
    word === "" ? await pickScope(host, ui) : (["files", "chat", "both"] as const).find((one) => one === word);
  if (scope === undefined) throw new UserError(`Unknown scope "${word}". Available: files, chat, both`);
  if (scope === null) return;
  // Both belong to one prompt: where it changed no files, an earlier prompt's stay.
  const prompt = scope === "both" ? host.session.chatUndo.lastPrompt() : undefined;
  if (scope !== "chat" && prompt !== null) ui.print(undoFiles(host, force, prompt));
  if (scope !== "files") ui.print(undoChat(host));
}

async function pickScope(host: Interactive, ui: CommandUi): Promise<Scope | null> {
  const last = host.session.parts.undo?.last();
  const about = last ? `${fileCount(last.files.length)} of "${oneLine(last.title, 50)}"` : "no file changes recorded";
  return ui.dialog.pick<Scope>("Undo what?", [
    { value: "both", label: "both" },
    { value: "files", label: "files", detail: about },
    { value: "chat", label: "chat", detail: "the last prompt and what came of it" },
  ]);
}

function fileCount(count: number): string {
  return `${count === 0 ? "no" : count} ${count === 1 ? "file" : "files"}`;
}

function undoFiles(host: Interactive, force: boolean, prompt: PromptPlace | undefined): string {
  const store = host.session.parts.undo;
  if (!store?.available) return `Undo of files is unavailable: ${store?.reason ?? "this session saves nothing"}`;
  const result = store.undo({ force, ...(prompt === undefined ? {} : { prompt }) });
  if (!result) return "No file changes to undo.";
  // With the conversation kept, the model would go on as if its changes were there.
  if (prompt === undefined && result.restored.length > 0) host.session.tell(fileNote("took back", result));
  return report("Restored", result);
}

function undoChat(host: Interactive): string {
  switch (host.session.chatUndo.undo()) {
    case "prompt":
      return "The last prompt and everything after it are taken back; the model no longer knows of them.";
    case "compaction":
      return "The transcript before /compact is back.";
    case null:
      return "No conversation to undo.";
  }
}

function redo(host: Interactive, ui: CommandUi, force: boolean): void {
  const chat = host.session.chatUndo.redo();
  const result = host.session.parts.undo?.redo({ force }) ?? null;
  if (result) ui.print(report("Done again:", result));
  if (result && !chat && result.restored.length > 0) host.session.tell(fileNote("brought back", result));
  if (chat)
    ui.print(chat === "prompt" ? "The conversation is back." : "The summary is in place of the transcript again.");
  if (!result && !chat) ui.print("Nothing to redo.");
}

function fileNote(what: string, result: UndoResult): string {
  return `The user ${what} the changes to these files that came of "${result.title}": ${result.restored.join(", ")}`;
}

function report(verb: string, result: UndoResult): string {
  const lines = result.restored.map((path) => `${verb} ${path}`);
  for (const { path, reason } of result.skipped) lines.push(`Left alone: ${path} (${reason}); --force overrides`);
  if (result.commands.length > 0)
    lines.push(
      "Commands ran meanwhile; their effects are not covered:",
      ...result.commands.map((command) => `  ${oneLine(command, 200)}`),
    );
  return lines.length === 0 ? "That prompt changed no files." : lines.join("\n");
}
