/** Guard rules on devices: formatting, partitioning, writing over them. */
import { hasFlag, splitArgv } from "./argv.ts";
import { refuse, type GuardCommand, type GuardRule } from "./guard-rule.ts";

export const DISK_RULES: readonly GuardRule[] = [
  refuse(
    "mkfs",
    null,
    "formats a device",
    ({ program, args }) =>
      /^(mkfs|mke2fs|mkswap|mkdosfs|newfs)(\.|$|_)/.test(program) && splitArgv(args).operands.length > 0,
  ),
  // Without an option it only lists what it would erase.
  refuse("wipefs", ["wipefs"], "erases a device", ({ args }) => hasFlag(args, ["-a", "--all", "-o", "--offset"])),
  refuse("blkdiscard", ["blkdiscard"], "erases a device", ({ args }) => splitArgv(args).operands.length > 0),
  refuse("dd-device", ["dd"], "writes over a device", ({ args }) =>
    args.some((arg) => /^of=/.test(arg) && isDevice(arg.slice("of=".length))),
  ),
  refuse("copy-device", ["cp", "tee", "mv"], "writes over a device", ({ args }) =>
    splitArgv(args).operands.some(isBlockDevice),
  ),
  refuse(
    "partition",
    ["fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted"],
    "changes partitions",
    changesPartitions,
  ),
  refuse("diskutil", ["diskutil"], "erases a disk", ({ args }) =>
    /^(erase|partition|zero|secureErase)/i.test(args[0] ?? ""),
  ),
];

const HARMLESS_DEVICES = /^\/dev\/(null|zero|full|stdin|stdout|stderr|tty|fd\/.*|shm\/.+)$/;
const BLOCK_DEVICES = /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|dm-|md|loop|mapper\/|sr|nbd|zd|mtd)/;

/** Whether `path` is a block device by its name. */
export function isBlockDevice(path: string): boolean {
  return BLOCK_DEVICES.test(path.replace(/\/+/g, "/"));
}

function isDevice(path: string): boolean {
  const plain = path.replace(/\/+/g, "/");
  return plain.startsWith("/dev/") && !HARMLESS_DEVICES.test(plain);
}

function changesPartitions({ program, args }: GuardCommand): boolean {
  if (
    hasFlag(args, ["-l", "--list", "-d", "--dump", "-p", "--print", "-v", "--version", "-h", "--help", "-J", "--json"])
  )
    return false;
  const { operands } = splitArgv(args, { valued: "auUbsHSCtowN" });
  return operands.length > 0 && !(program === "parted" && operands.includes("print"));
}
