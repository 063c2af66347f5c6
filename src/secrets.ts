/** Which files hold secrets, by name, and which words in a variable's name mean a credential. Touches no file and makes no decision about a call. */
import type { Decision } from "./types.ts";
import { matchesWildcard } from "./wildcard.ts";

type SecretRow = readonly [pattern: string, decision: Decision];

// Names without a slash; each counts in the root and at any depth. The last match wins, so exceptions follow what they except.
const SECRET_NAMES: readonly SecretRow[] = [
  [".env", "deny"],
  [".env.*", "deny"],
  ["*.env", "deny"],
  ["*.pem", "deny"],
  ["*.key", "deny"],
  ["id_rsa*", "deny"],
  ["id_ed25519*", "deny"],
  [".netrc", "deny"],
  [".git-credentials", "deny"],
  ["credentials.json", "deny"],
  [".aws/credentials", "deny"],
  [".ssh/*", "deny"],
  [".ssh/config", "allow"],
  [".ssh/known_hosts*", "allow"],
  [".ssh/authorized_keys*", "allow"],
  ["*.p12", "deny"],
  ["*.pfx", "deny"],
  ["*.keystore", "deny"],
  [".npmrc", "ask"],
  [".pypirc", "ask"],
  [".env.example", "allow"],
  [".env.sample", "allow"],
  [".env.template", "allow"],
  ["*.pub", "allow"],
];

/** The default of every tool that shows a file's contents. Matched without regard to case, see permission.ts. */
export const SECRET_READ_RULES: readonly SecretRow[] = [
  ["*", "allow"],
  ...SECRET_NAMES.flatMap(([name, decision]): SecretRow[] => [
    [name, decision],
    [`*/${name}`, decision],
  ]),
];

/** Whether the contents of a file (its real path, relative to the workspace) are refused by default: for texts that no tool reads. */
export function refusedByName(relativePath: string): boolean {
  const path = relativePath.replaceAll("\\", "/").toLowerCase();
  return SECRET_READ_RULES.findLast(([pattern]) => matchesWildcard(pattern, path))?.[1] === "deny";
}

const CREDENTIAL_WORDS = ["token", "secret", "password", "passwd", "apikey", "credential", "credentials"];
const CREDENTIAL_PAIRS = ["api_key", "access_key", "private_key", "secret_key", "auth_key"];

/** Whether a variable or field of this name usually holds a credential (`GITHUB_TOKEN`, `dbPassword`). */
export function isCredentialName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  if (words.some((word) => CREDENTIAL_WORDS.includes(word))) return true;
  return words.some((word, index) => CREDENTIAL_PAIRS.includes(`${word}_${words[index + 1] ?? ""}`));
}

// Parts of SHIRO_HOME that hold no key and no transcript.
const READABLE_HOME = ["skills", "commands", "agents", "registry", "spill", "agents.md"];

/** Whether a path inside SHIRO_HOME (given relative to it, forward slashes) may hold keys or transcripts. */
export function isPrivateHomePath(relative: string): boolean {
  const [first = ""] = relative.toLowerCase().split("/");
  return !READABLE_HOME.includes(first);
}
