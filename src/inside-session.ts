/** What changes rules, servers or consent is refused to commands of a session of ours: an agent must not change what it is held to. Knows no subcommand. */
import { UserError } from "./errors.ts";

/** Throws UserError where this program was started by a call of a session. `what`: `shiro trust`; `instead`: what the user can do. */
export function refuseInsideSession(env: Record<string, string | undefined>, what: string, instead: string): void {
  if (env["SHIRO_CALL"]) throw new UserError(`${what} changes nothing from inside a session: use ${instead}`);
}
