/** The environment children get: quiet, never interactive, without keys. Decides nothing about which names are keys. */

/** What makes programs plain and unable to wait for a person. An editor that fails beats one that waits for ever. */
const FIXED: Readonly<Record<string, string>> = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  DEBIAN_FRONTEND: "noninteractive",
  EDITOR: "false",
  VISUAL: "false",
  GIT_EDITOR: "false",
  GIT_SEQUENCE_EDITOR: "false",
};

/** Names that would make a child pop up a window or talk to our own runtime. */
const DROPPED = /^(?:BUN_|SSH_ASKPASS$|GIT_ASKPASS$|SUDO_ASKPASS$|FORCE_COLOR$|CLICOLOR_FORCE$|SHIRO_CALL$)/;

export interface ChildEnvOptions {
  /** Variable names that hold keys, compared without case. */
  remove: Iterable<string>;
  /** Key values: any variable that holds one of them goes too, whatever its name. Values under 8 characters are ignored. */
  secretValues?: Iterable<string>;
}

/** A copy of `env` fit for children. Names that hold keys, BUN_*, and askpass helpers are left out. */
export function childEnv(
  env: Readonly<Record<string, string | undefined>>,
  options: ChildEnvOptions,
): Record<string, string> {
  const removed = new Set([...options.remove].map((name) => name.toUpperCase()));
  // A short value would match by chance and take PATH or HOME with it.
  const secrets = [...(options.secretValues ?? [])].filter((value) => value.length >= 8);
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || DROPPED.test(name) || removed.has(name.toUpperCase())) continue;
    if (secrets.some((secret) => value.includes(secret))) continue;
    kept[name] = value;
  }
  return { ...kept, ...FIXED };
}
