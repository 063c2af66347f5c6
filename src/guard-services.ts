/** Guard rules on machines and services: power, containers, clusters, clouds, schedules, processes, history. */
import { hasFlag, splitArgv } from "./argv.ts";
import { refuse, type GuardCommand, type GuardRule } from "./guard-rule.ts";

const CONTAINERS = ["docker", "podman", "nerdctl"];

export const SERVICE_RULES: readonly GuardRule[] = [
  refuse(
    "power",
    ["shutdown", "reboot", "halt", "poweroff"],
    "stops the machine",
    ({ args }) => !hasFlag(args, ["-c", "--help", "--version", "--show"]),
  ),
  refuse("init-level", ["init", "telinit"], "stops the machine", ({ args }) => ["0", "6"].includes(args[0] ?? "")),
  refuse("systemctl-power", ["systemctl", "loginctl"], "stops the machine", ({ args }) =>
    splitArgv(args).operands.some((word) => /^(poweroff|reboot|halt|kexec|soft-reboot)$/.test(word)),
  ),
  refuse(
    "container-prune",
    CONTAINERS,
    "deletes images or volumes",
    ({ args }) => inOrder(args, "system", "prune") && hasFlag(args, ["-a", "--all", "--volumes"]),
  ),
  refuse(
    "container-volume",
    CONTAINERS,
    "deletes volumes with their data",
    ({ args }) =>
      inOrder(args, "volume", "rm") || inOrder(args, "volume", "remove") || inOrder(args, "volume", "prune"),
  ),
  refuse("kubectl-namespace", ["kubectl", "oc"], "deletes a namespace with everything in it", ({ args }) =>
    ["namespace", "namespaces", "ns"].some((kind) => deletesKind(args, kind)),
  ),
  refuse(
    "kubectl-all",
    ["kubectl", "oc"],
    "deletes every object",
    ({ args }) => args.includes("delete") && hasFlag(args, ["--all", "--all-namespaces"]),
  ),
  refuse(
    "terraform-destroy",
    ["terraform", "tofu", "terragrunt"],
    "destroys infrastructure",
    ({ args }) =>
      args.includes("destroy") || (!args.includes("plan") && args.some((arg) => /^--?destroy(=true)?$/.test(arg))),
  ),
  refuse(
    "aws-rm",
    ["aws"],
    "deletes stored objects",
    ({ args }) => inOrder(args, "s3", "rm") && hasFlag(args, ["--recursive"]),
  ),
  refuse(
    "aws-rb",
    ["aws"],
    "deletes a bucket with its contents",
    ({ args }) => inOrder(args, "s3", "rb") && hasFlag(args, ["--force"]),
  ),
  refuse("crontab-remove", ["crontab"], "deletes the crontab", ({ args }) => hasFlag(args, ["-r"], { valued: "u" })),
  refuse("kill-all", ["kill"], "kills every process", killsEverything),
  refuse("history-clear", ["history"], "erases the shell history", ({ args }) =>
    hasFlag(args, ["-c"], { valued: "d" }),
  ),
];

function inOrder(args: readonly string[], first: string, second: string): boolean {
  const at = args.indexOf(first);
  return at >= 0 && args.includes(second, at + 1);
}

/** The kinds are the first word after `delete`; names of objects follow. */
function deletesKind(args: readonly string[], kind: string): boolean {
  const at = args.indexOf("delete");
  if (at < 0) return false;
  const named = splitArgv(args.slice(at + 1), { valued: "nlf" }).operands;
  return named.some((word, index) => word.startsWith(`${kind}/`) || (index === 0 && word.split(",").includes(kind)));
}

function killsEverything({ args }: GuardCommand): boolean {
  const target = args.at(-1) === "-1" && args.length > 1;
  return (
    target &&
    args.slice(0, -1).some((arg) => /^(-9|-(s|n)?|-?(SIG)?KILL|9|-s(9|KILL)|--|-15|-TERM|--signal=.*)$/i.test(arg))
  );
}
