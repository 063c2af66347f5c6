/** What a kernel can enforce: Landlock's ABI number to rights, to a rung, to words for people. Pure; asks no kernel. */

/** From nothing to everything. `net`: only the network is closed, which never counts as sandboxed. */
export const RUNGS = ["none", "net", "fs1", "fs3", "full"] as const;
export type Rung = (typeof RUNGS)[number];

/** linux/landlock.h: rights over files, by bit, with the ABI that brought them. */
export const FS = {
  EXECUTE: 1 << 0,
  WRITE_FILE: 1 << 1,
  READ_FILE: 1 << 2,
  READ_DIR: 1 << 3,
  REMOVE_DIR: 1 << 4,
  REMOVE_FILE: 1 << 5,
  MAKE_CHAR: 1 << 6,
  MAKE_DIR: 1 << 7,
  MAKE_REG: 1 << 8,
  MAKE_SOCK: 1 << 9,
  MAKE_FIFO: 1 << 10,
  MAKE_BLOCK: 1 << 11,
  MAKE_SYM: 1 << 12,
  REFER: 1 << 13,
  TRUNCATE: 1 << 14,
  IOCTL_DEV: 1 << 15,
  RESOLVE_UNIX: 1 << 16,
} as const;

const FS_SINCE: readonly (readonly [abi: number, mask: number])[] = [
  [1, (1 << 13) - 1],
  [2, FS.REFER],
  [3, FS.TRUNCATE],
  [5, FS.IOCTL_DEV],
  [9, FS.RESOLVE_UNIX],
];

/** What a rule on anything but a directory may carry; more is EINVAL. */
export const FILE_RIGHTS = FS.EXECUTE | FS.WRITE_FILE | FS.READ_FILE | FS.TRUNCATE | FS.IOCTL_DEV;

export const NET = { BIND_TCP: 1, CONNECT_TCP: 2 } as const;
export const SCOPE = { ABSTRACT_UNIX: 1, SIGNAL: 2 } as const;

/** The masks of a ruleset. `size` is how much of the struct this ABI reads. */
export interface Handled {
  fs: number;
  net: number;
  scoped: number;
  size: 8 | 16 | 24;
}

/** Every right the ABI knows, as far as the switches want it kept from the command. */
export function handledBy(abi: number, wants: { network: "off" | "on"; unixSockets: "off" | "on" }): Handled {
  const known = FS_SINCE.filter(([since]) => abi >= since).reduce((mask, [, bits]) => mask | bits, 0);
  const closed = wants.unixSockets === "off";
  return {
    fs: closed ? known : known & ~FS.RESOLVE_UNIX,
    net: abi >= 4 && wants.network === "off" ? NET.BIND_TCP | NET.CONNECT_TCP : 0,
    scoped: abi >= 6 ? SCOPE.SIGNAL | (closed ? SCOPE.ABSTRACT_UNIX : 0) : 0,
    size: abi >= 6 ? 24 : abi >= 4 ? 16 : 8,
  };
}

/** Some kernels report ABI 6 and know only a part of its scopes: what to try, in order. */
export function scopeAttempts(scoped: number): number[] {
  return [...new Set([scoped, scoped & SCOPE.ABSTRACT_UNIX, 0])];
}

/** What the filter has to stand in for. */
export interface Guards {
  /** truncate(2) and opening for reading with O_TRUNC would destroy files elsewhere. */
  truncate: boolean;
  /** Signals would reach the program that started the sandbox. */
  signals: boolean;
}

export function guardsFor(abi: number, scoped: number): Guards {
  return { truncate: abi < 3, signals: (scoped & SCOPE.SIGNAL) === 0 };
}

export function rungOf(abi: number, scoped: number): Exclude<Rung, "none"> {
  if (abi < 1) return "net";
  if (abi < 3) return "fs1";
  return (scoped & SCOPE.SIGNAL) === 0 ? "fs3" : "full";
}

/** Whether a rung is enough for what the settings require, or for another rung. */
export function meets(rung: Rung, required: "full" | "fs" | "any"): boolean {
  return reaches(rung, LOWEST[required]);
}

export function reaches(rung: Rung, lowest: Rung): boolean {
  return RUNGS.indexOf(rung) >= RUNGS.indexOf(lowest);
}

/** The lowest rung each requirement takes. */
export const LOWEST = { full: "full", fs: "fs1", any: "net" } as const satisfies Record<string, Rung>;

/** What is lost against a kernel that can do everything, one line each. `wanted` is what the ruleset asked for at first. */
export function lostWith(abi: number, handled: { net: number; scoped: number }, wanted: { scoped: number }): string[] {
  if (abi < 1) return ["files are not protected: the kernel has no Landlock"];
  const lost: string[] = [];
  if (abi < 2) lost.push("moving files between directories copies them (no hard links across directories)");
  if (abi < 3) lost.push("truncate(2), openat2(2) and opening read-only with O_TRUNC are refused everywhere");
  if (abi < 5) lost.push("device files that are open already take any ioctl");
  if ((handled.scoped & SCOPE.SIGNAL) === 0)
    lost.push("signals reach the user's other processes (shiro itself is guarded)");
  if ((handled.scoped & SCOPE.ABSTRACT_UNIX) === 0 && (abi < 6 || (wanted.scoped & SCOPE.ABSTRACT_UNIX) !== 0))
    lost.push("abstract unix sockets are closed by the system-call filter alone");
  return lost;
}

/** What a rung guarantees, one line each. */
export function heldBy(
  rung: Rung,
  switches: { network: "off" | "on"; unixSockets: "off" | "on" },
  lists: { write: readonly string[] },
): string[] {
  if (rung === "none") return [];
  const files = [
    `writes only in ${lists.write.join(", ") || "nothing"}`,
    "the files listed as unreadable can't be read",
    "other processes' memory and environment can't be read",
  ];
  const always = [
    switches.network === "off" ? "no network" : "network: only IPv4 and IPv6",
    ...(switches.unixSockets === "off" ? ["no unix sockets (docker, D-Bus, agents)"] : []),
    "no setuid programs, no typing into the terminal",
  ];
  return [
    ...(rung === "net" ? [] : files),
    ...always,
    ...(rung === "full" ? ["signals only to its own processes"] : []),
  ];
}
