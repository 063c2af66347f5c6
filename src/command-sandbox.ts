/** `/sandbox`, `shiro sandbox status` and the doctor's lines: the state of the sandbox in words. Changes nothing. */
import type { Args } from "./args.ts";
import type { Command } from "./command.ts";
import { EXIT, UserError } from "./errors.ts";
import type { Interactive } from "./interactive-host.ts";
import type { Output } from "./output.ts";
import { sanitize } from "./sanitize.ts";
import { SHARED_MEMORY } from "./sandbox-landlock.ts";
import type { SandboxStatus } from "./sandbox.ts";

/** One line: what the doctor and a header have room for. */
export function sandboxSummary(status: SandboxStatus): string {
  if (status.state === "off") return `none (${status.why}): allowed commands run with your rights`;
  const network = `network ${status.network}`;
  if (status.state === "expected") return `${network}; the kernel is tested at the first command`;
  return `${status.rung} (Landlock ABI ${status.abi}), ${network}, mode ${status.mode}`;
}

/** The whole report. */
export function sandboxReport(status: SandboxStatus): string {
  if (status.state === "off")
    return [`No sandbox: ${status.why}.`, "Commands that you allow run with your rights."].join("\n");
  return [
    `Sandbox: ${status.state === "active" ? status.rung : "not tested yet"} (${status.kernel}, Landlock ABI ${status.abi}), mode ${status.mode}`,
    ...section("Holds", status.held),
    ...section("Writable", status.write),
    ...section("Unreadable", status.denied),
    ...section("Does not hold", [...status.lost, ...alwaysOpen(status)]),
  ].join("\n");
}

/** True of every kernel. */
function alwaysOpen({ write }: SandboxStatus): string[] {
  return [
    "the workspace itself is not protected, secrets in it included",
    "names, sizes and times of all files can be seen; modes, owners and times can be changed as far as you may",
    "command lines of all processes can be seen; the priority of yours can be changed",
    "your terminals can be read and written under their names in /dev/pts",
    ...(write.includes(SHARED_MEMORY)
      ? ["memory that your other programs share (/dev/shm, System V) can be changed"]
      : []),
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
}

export function sandboxCommands(host: Interactive): Command[] {
  return [
    {
      name: "sandbox",
      args: "",
      summary: "what confines commands, and what doesn't hold",
      async run(_, ui) {
        ui.print(sandboxReport(await host.setup.sandbox.ready()));
      },
    },
  ];
}

export async function runSandbox(
  args: Args,
  io: { stdout: Output; stderr: Output; env: Record<string, string | undefined>; cwd: string },
): Promise<number> {
  if (args.rest.length > 1 || (args.rest[0] ?? "status") !== "status")
    throw new UserError("Usage: shiro sandbox status");
  const { sandboxHere } = await import("./setup-sandbox.ts");
  const report = (message: string): void => io.stderr.write(`shiro: ${sanitize(message)}\n`);
  const sandbox = sandboxHere({ options: args.options, env: io.env, cwd: io.cwd }, report);
  const status = await sandbox.ready();
  io.stdout.write(`${args.options.json ? JSON.stringify(status) : sanitize(sandboxReport(status))}\n`);
  return EXIT.done;
}
