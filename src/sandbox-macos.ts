/** A profile for macOS' sandbox-exec, behind `sandbox.experimental`: written from its documentation, not yet tried on a Mac, so it never counts as sandboxed. */
import type { SandboxPlan } from "./sandbox-plan.ts";

export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** What can't be promised there, one line each. */
export const MACOS_LOST = [
  "experimental: not tested on macOS, so approvals stay as without a sandbox",
  "system services (keychain, launchd) can be reached",
] as const;

/** `sandbox-exec` with a profile in front of a command. The last rule that matches counts there, so denials follow. */
export function macosArgv(plan: SandboxPlan, argv: readonly string[]): string[] {
  return [SANDBOX_EXEC, "-p", macosProfile(plan), ...argv];
}

export function macosProfile(plan: SandboxPlan): string {
  const writable = plan.write.map((path) => `(subpath ${quoted(path)})`);
  return [
    "(version 1)",
    "(allow default)",
    "(deny file-write*)",
    `(allow file-write* ${writable.join(" ")} (literal "/dev/null") (literal "/dev/tty") (regex #"^/dev/(ttys[0-9]+|fd/[0-9]+)$"))`,
    ...plan.deny.map((path) => `(deny file-read-data (subpath ${quoted(path)}))`),
    ...plan.read.map((path) => `(allow file-read-data (subpath ${quoted(path)}))`),
    ...(plan.network === "off" ? ["(deny network*)"] : []),
    "(deny signal)",
    "(allow signal (target same-sandbox))",
    "(deny process-info*)",
    "(allow process-info* (target same-sandbox))",
    "(deny appleevent-send)",
    "(deny lsopen)",
    "(deny job-creation)",
  ].join("\n");
}

/** A string of the profile's Scheme. */
function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, "\\$&")}"`;
}
