/** What a release says of itself: whether its three versions agree, and its part of the changelog. Pure. */
import { UserError } from "../src/errors.ts";

/** What to mend when package.json, src/version.ts and the tag that is being built differ; undefined when they agree. */
export function versionProblem(
  version: string,
  packageJson: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  // npm's own file, whose version npm checks.
  const packaged = (JSON.parse(packageJson) as { version?: string }).version;
  const tag = env["GITHUB_REF_TYPE"] === "tag" ? env["GITHUB_REF_NAME"] : undefined;
  if (packaged === version && (tag === undefined || tag === `v${version}`)) return undefined;
  return `Versions differ: src/version.ts says ${version}, package.json ${packaged}, the tag ${tag ?? "nothing"}`;
}

/** The changelog's section for `version`, without its heading; before a version has one, what is unreleased. Throws a UserError when there is neither. */
export function releaseNotes(version: string, changelog: string): string {
  const sections = changelog.split(/^(?=## \[)/m);
  const named = (name: string): string | undefined => sections.find((text) => text.startsWith(`## [${name}]`));
  const own = named(version) ?? named("Unreleased");
  if (own === undefined) throw new UserError(`CHANGELOG.md has no section for ${version}`);
  return `${own.replace(/^.*\n/, "").trim()}\n`;
}
