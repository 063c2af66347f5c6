/** Commands of one's own as Markdown files: found, read, and whether a project's may run what it holds. Runs nothing. */
import { join } from "node:path";
import { messageOf } from "./errors.ts";
import { runsCommands } from "./custom-template.ts";
import { repositoryRoot, withoutInvisible } from "./instructions.ts";
import { FrontmatterError, parseMarkdownFile, textField } from "./markdown-file.ts";
import { folderEntries, MAX_FOLDER_ENTRIES, readInside, realOrNull, stampOf } from "./markdown-file-read.ts";
import { oneLine } from "./text.ts";
import { trustState, type TrustState } from "./trust.ts";

export interface CustomCommand {
  /** `review`, `git:pr`. */
  name: string;
  description: string;
  /** Empty when it takes nothing in particular. */
  argumentHint: string;
  agent: string | null;
  model: string | null;
  template: string;
  source: "user" | "project";
  path: string;
  realPath: string;
  /** As it stands on disk: what trust is recorded for. */
  content: string;
  /** Holds `` !`…` ``. */
  runs: boolean;
}

export interface CustomCommands {
  list: readonly CustomCommand[];
  problems: readonly { path: string; reason: string }[];
}

interface Place {
  source: CustomCommand["source"];
  directory: string;
  root: string;
}

const FILE_BYTES = 64 * 1024;
/** `group:name`, and no deeper. */
const MAX_DEPTH = 2;
const NAME = /^[a-z][\w.-]*$/i;

export const userCommandsDir = (home: string) => join(home, "commands");

/** The user's, then the project's; later wins by name. Never throws: what can't be read is among the problems. */
export function loadCustomCommands(places: { home: string; cwd: string }): CustomCommands {
  const problems: { path: string; reason: string }[] = [];
  const byName = new Map<string, CustomCommand>();
  for (const place of placesOf(places)) {
    for (const { path, name } of filesOf(place.directory, problems)) {
      const read = readInside(path, place.root, FILE_BYTES);
      if (read === null) continue;
      const command =
        "problem" in read
          ? read.problem
          : read.size > FILE_BYTES
            ? `it is larger than ${FILE_BYTES} bytes`
            : commandOf(name, read, place.source, path);
      if (typeof command === "string") problems.push({ path, reason: command });
      else byName.set(command.name, command);
    }
  }
  return { list: [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

/** Changes when a command was added, changed or removed on disk. */
export function commandsStamp(places: { home: string; cwd: string }): string {
  return stampOf(
    placesOf(places).flatMap(({ directory }) => [directory, ...filesOf(directory, []).map((file) => file.path)]),
  );
}

/** Whether a command may run what it holds: one of the user's own always, a project's only with consent to this very content. */
export function commandTrust(command: CustomCommand, home: string): TrustState {
  if (command.source === "user" || !command.runs) return "trusted";
  return trustState(home, command.realPath, command.content);
}

function placesOf({ home, cwd }: { home: string; cwd: string }): Place[] {
  const own = userCommandsDir(home);
  const repository = repositoryRoot(cwd);
  const root = realOrNull(repository) ?? repository;
  return [
    { source: "user", directory: own, root: realOrNull(own) ?? own },
    ...[...new Set([repository, cwd])].map((base): Place => {
      return { source: "project", directory: join(base, ".shiro", "commands"), root };
    }),
  ];
}

interface Found {
  path: string;
  name: string;
}

type Problems = { path: string; reason: string }[];

/** As many as one folder may hold, sub-folders included: a tree of them would take seconds at each start. */
function filesOf(directory: string, problems: Problems): Found[] {
  const files = [...filesIn(directory, 1, problems).take(MAX_FOLDER_ENTRIES + 1)];
  if (files.length > MAX_FOLDER_ENTRIES)
    problems.push({ path: directory, reason: `only the first ${MAX_FOLDER_ENTRIES} commands count` });
  return files.slice(0, MAX_FOLDER_ENTRIES);
}

function* filesIn(directory: string, depth: number, problems: Problems): Generator<Found> {
  const { entries, problem } = folderEntries(directory);
  if (problem !== null) problems.push({ path: directory, reason: problem });
  for (const { name, path, isDirectory } of entries) {
    if (!isDirectory) {
      if (name.endsWith(".md")) yield { path, name: name.slice(0, -3) };
    } else if (depth < MAX_DEPTH)
      for (const file of filesIn(path, depth + 1, problems)) yield { path: file.path, name: `${name}:${file.name}` };
  }
}

function commandOf(
  name: string,
  read: { text: string; realPath: string },
  source: CustomCommand["source"],
  path: string,
): CustomCommand | string {
  if (!name.split(":").every((part) => NAME.test(part)))
    return `"${oneLine(name, 60)}" is no name for a command: a letter, then letters, digits, . _ -`;
  if (name.startsWith("skill:")) return `/skill:… stands for skills, so it can't be a command`;
  try {
    const file = parseMarkdownFile(withoutInvisible(read.text));
    if (file.body === "") return "it is empty";
    const hint = file.fields.get("argument-hint");
    return {
      name,
      description: oneLine(textField(file, "description") || (file.body.split("\n", 1)[0] ?? ""), 200),
      // `[number] [title]` is no list here, whatever YAML says.
      argumentHint: oneLine((typeof hint?.value === "string" ? hint.value : hint?.raw) ?? "", 60),
      agent: textField(file, "agent") || null,
      model: textField(file, "model") || null,
      template: file.body,
      source,
      path,
      realPath: read.realPath,
      content: read.text,
      runs: runsCommands(file.body),
    };
  } catch (error) {
    if (error instanceof FrontmatterError) return messageOf(error);
    throw error;
  }
}
