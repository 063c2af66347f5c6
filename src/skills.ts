/** Skills: instructions a model loads when a task calls for them. Finds them and reads their descriptions; bodies are read when asked for. Changes no rule. */
import { dirname, join } from "node:path";
import { UserError, messageOf } from "./errors.ts";
import { repositoryRoot, withoutInvisible } from "./instructions.ts";
import { FrontmatterError, listField, type MarkdownFile, parseMarkdownFile, textField } from "./markdown-file.ts";
import { folderEntries, readInside, realOrNull, stampOf } from "./markdown-file-read.ts";
import { nearestName } from "./nearest.ts";
import { registryDir } from "./registry-store.ts";
import { BUILTIN_SKILLS } from "./skills-builtin.ts";
import { type AllowedTool, parseAllowedTools } from "./skills-tools.ts";
import { oneLine } from "./text.ts";

/** Where skills come from. Later ones win by name. */
export const SKILL_SOURCES = ["builtin", "registry", "user", "project"] as const;
export type SkillSource = (typeof SKILL_SOURCES)[number];

export interface Skill {
  name: string;
  /** One line. */
  description: string;
  source: SkillSource;
  /** Of its file; null for a builtin one. */
  path: string | null;
  /** Real path that its files may not lead out of; empty for a builtin one. */
  root: string;
  /** Real path of the folder with the files that go with it; null where it has none of its own. */
  folder: string | null;
  /** Null: no limit. */
  allowedTools: readonly AllowedTool[] | null;
}

export interface SkillProblem {
  path: string;
  reason: string;
}

export interface Skills {
  /** By name. */
  list: readonly Skill[];
  /** Files that are no usable skill, and why. */
  problems: readonly SkillProblem[];
  /** Looks at the disk again. Throws UserError for an unknown name or a file that is no longer readable. */
  body(name: string): string;
}

export interface SkillPlaces {
  /** SHIRO_HOME. */
  home: string;
  cwd: string;
}

/** A body goes into the history whole: more would push the task itself out of small contexts. Move the rest to files beside the skill. */
export const MAX_SKILL_CHARS = 20_000;
export const SKILL_NAME = /^[a-z0-9][a-z0-9-]*$/;

/** Enough for any frontmatter; the rest of a file is read when its body is wanted. */
const HEAD_BYTES = 16 * 1024;
/** No body of MAX_SKILL_CHARS takes more. */
const FILE_BYTES = HEAD_BYTES + 4 * MAX_SKILL_CHARS;
const MAX_NAME_CHARS = 64;

interface Place {
  source: SkillSource;
  directory: string;
  /** Links may not lead out of this real path. */
  root: string;
}

export const userSkillsDir = (home: string) => join(home, "skills");

/** Reads names and descriptions. Never throws: what can't be read is among the problems. */
export function loadSkills(places: SkillPlaces): Skills {
  const byName = new Map<string, Skill>(builtins().map((skill) => [skill.name, skill]));
  const problems: SkillProblem[] = [];
  for (const place of placesOf(places)) {
    const { files, problem } = skillFiles(place.directory);
    if (problem !== null) problems.push({ path: place.directory, reason: problem });
    const own = new Set<string>();
    for (const file of files) {
      const read = readSkill(file, place);
      if (read === null) continue;
      if ("reason" in read) problems.push(read);
      else if (own.has(read.name))
        problems.push({ path: file.path, reason: `there is another "${read.name}" beside it` });
      else {
        own.add(read.name);
        byName.set(read.name, read);
      }
    }
  }
  const list = [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { list, problems, body: (name) => bodyOf(byName.get(name), name, list) };
}

/** Skills of nobody: --no-skills. */
export const NO_SKILLS: Skills = { list: [], problems: [], body: (name) => bodyOf(undefined, name, []) };

/** Changes when a skill was added, changed or removed on disk. */
export function skillsStamp(places: SkillPlaces): string {
  return stampOf(
    placesOf(places).flatMap(({ directory }) => [directory, ...skillFiles(directory).files.map((file) => file.path)]),
  );
}

function builtins(): Skill[] {
  return Object.entries(BUILTIN_SKILLS).map(([name, text]) => ({
    name,
    description: oneLine(textField(parseMarkdownFile(text), "description") ?? ""),
    source: "builtin",
    path: null,
    root: "",
    folder: null,
    allowedTools: null,
  }));
}

/** From the weakest to the strongest. */
function placesOf({ home, cwd }: SkillPlaces): Place[] {
  const own: Place[] = [registryDir(home, "skill"), userSkillsDir(home)].flatMap((directory, index) => {
    const root = realOrNull(directory);
    return root === null ? [] : [{ source: index === 0 ? "registry" : "user", directory, root } as const];
  });
  const repository = repositoryRoot(cwd);
  const root = realOrNull(repository) ?? repository;
  const project = [...new Set([repository, cwd])].flatMap((base) =>
    [".agents", ".claude", ".shiro"].map((dot): Place => ({
      source: "project",
      directory: join(base, dot, "skills"),
      root,
    })),
  );
  return [...own, ...project];
}

interface SkillFile {
  path: string;
  /** From the file's or folder's name. */
  name: string;
  folder: boolean;
}

function skillFiles(directory: string): { files: SkillFile[]; problem: string | null } {
  const { entries, problem } = folderEntries(directory);
  const files = entries.flatMap(({ name, path, isDirectory }): SkillFile[] => {
    if (isDirectory) return [{ path: join(path, "SKILL.md"), name, folder: true }];
    return name.endsWith(".md") && name !== "README.md" ? [{ path, name: name.slice(0, -3), folder: false }] : [];
  });
  return { files, problem };
}

function readSkill(file: SkillFile, place: Place): Skill | SkillProblem | null {
  const { path } = file;
  const head = readInside(path, place.root, HEAD_BYTES);
  if (head === null) return null;
  if ("problem" in head) return { path, reason: head.problem };
  const whole = head.size > MAX_SKILL_CHARS ? readInside(path, place.root, FILE_BYTES) : head;
  if (whole === null || "problem" in whole) return { path, reason: "it could not be read" };
  const parsed = parsedOr(whole.text);
  if (typeof parsed === "string") return { path, reason: parsed };
  if (whole.size > FILE_BYTES || parsed.body.length > MAX_SKILL_CHARS)
    return { path, reason: `its body is longer than ${MAX_SKILL_CHARS} characters; move a part to files beside it` };
  return described(parsed, file, place, dirname(whole.realPath));
}

function described(parsed: MarkdownFile, file: SkillFile, place: Place, folder: string): Skill | SkillProblem {
  const { path } = file;
  const name = textField(parsed, "name");
  const description = textField(parsed, "description");
  if (!name) return { path, reason: 'its frontmatter has no "name"' };
  if (!description) return { path, reason: 'its frontmatter has no "description"' };
  if (!SKILL_NAME.test(name) || name.length > MAX_NAME_CHARS)
    return {
      path,
      reason: `"${oneLine(name, 60)}" is no name: small letters, digits and -, at most ${MAX_NAME_CHARS}`,
    };
  const allowed = listField(parsed, "allowed-tools");
  return {
    name,
    description: oneLine(description),
    source: place.source,
    path,
    root: place.root,
    folder: file.folder ? folder : null,
    allowedTools: allowed === undefined ? null : parseAllowedTools(allowed),
  };
}

function parsedOr(text: string): MarkdownFile | string {
  try {
    return parseMarkdownFile(withoutInvisible(text));
  } catch (error) {
    if (error instanceof FrontmatterError) return messageOf(error);
    throw error;
  }
}

function bodyOf(skill: Skill | undefined, name: string, list: readonly Skill[]): string {
  if (!skill) throw unknownSkill(name, list);
  if (skill.path === null) return parseMarkdownFile(BUILTIN_SKILLS[name] ?? "").body;
  const read = readInside(skill.path, skill.root, FILE_BYTES);
  if (read === null) throw new UserError(`The skill "${name}" is gone: ${skill.path} is no longer there`);
  if ("problem" in read) throw new UserError(`The skill "${name}" can't be read: ${skill.path} ${read.problem}`);
  const parsed = parsedOr(read.text);
  if (typeof parsed === "string") throw new UserError(`The skill "${name}" can't be read: ${skill.path}, ${parsed}`);
  return parsed.body.slice(0, MAX_SKILL_CHARS);
}

function unknownSkill(name: string, list: readonly Skill[]): UserError {
  const names = list.map((skill) => skill.name);
  const near = nearestName(name, names);
  return new UserError(
    `There is no skill "${name}".${near ? ` Did you mean "${near}"?` : ` Available: ${names.join(", ") || "none"}`}`,
  );
}
