/** The platforms shiro is released for, and what a program of each must look like. Builds nothing. */

export interface Target {
  /** The build is `shiro-<name>`, on Windows with `.exe`. */
  name: string;
  /** What `bun build --target` calls it. */
  bun: string;
  format: "elf" | "mach-o" | "pe";
  arch: "x64" | "arm64";
  /** The dynamic loader an ELF program asks for; it also tells the C library. */
  loader?: string;
}

export const TARGETS: readonly Target[] = [
  {
    name: "linux-x64",
    bun: "bun-linux-x64-modern",
    format: "elf",
    arch: "x64",
    loader: "/lib64/ld-linux-x86-64.so.2",
  },
  {
    name: "linux-x64-baseline",
    bun: "bun-linux-x64-baseline",
    format: "elf",
    arch: "x64",
    loader: "/lib64/ld-linux-x86-64.so.2",
  },
  {
    name: "linux-arm64",
    bun: "bun-linux-arm64",
    format: "elf",
    arch: "arm64",
    loader: "/lib/ld-linux-aarch64.so.1",
  },
  {
    name: "linux-x64-musl",
    bun: "bun-linux-x64-musl",
    format: "elf",
    arch: "x64",
    loader: "/lib/ld-musl-x86_64.so.1",
  },
  {
    name: "linux-arm64-musl",
    bun: "bun-linux-arm64-musl",
    format: "elf",
    arch: "arm64",
    loader: "/lib/ld-musl-aarch64.so.1",
  },
  { name: "darwin-x64", bun: "bun-darwin-x64", format: "mach-o", arch: "x64" },
  { name: "darwin-arm64", bun: "bun-darwin-arm64", format: "mach-o", arch: "arm64" },
  { name: "windows-x64", bun: "bun-windows-x64", format: "pe", arch: "x64" },
];

/** The program's file name. */
export function programName(target: Target): string {
  return target.format === "pe" ? `shiro-${target.name}.exe` : `shiro-${target.name}`;
}

export function archiveName(target: Target): string {
  return target.format === "pe" ? `shiro-${target.name}.zip` : `shiro-${target.name}.tar.gz`;
}

/** This machine, as far as it decides what runs on it. `glibc` only matters on Linux. */
export interface Machine {
  platform: NodeJS.Platform;
  arch: string;
  glibc: boolean;
}

/** Whether a program for `target` can be run on `machine`. */
export function runsOn(target: Target, machine: Machine): boolean {
  const formats: Partial<Record<NodeJS.Platform, Target["format"]>> = { linux: "elf", darwin: "mach-o", win32: "pe" };
  if (formats[machine.platform] !== target.format || target.arch !== machine.arch) return false;
  return target.format !== "elf" || machine.glibc === !target.name.endsWith("-musl");
}
