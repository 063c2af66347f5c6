/** The few system calls of the launcher, through bun:ffi. Linux only; knows no policy. */
import { dlopen, ptr, read } from "bun:ffi";
import type { Arch } from "./sandbox-seccomp.ts";

/** Numbers by architecture; the newer ones are the same everywhere. */
const NUMBERS = {
  landlockCreateRuleset: [444, 444],
  landlockAddRule: [445, 445],
  landlockRestrictSelf: [446, 446],
  openat: [257, 56],
  close: [3, 57],
  socket: [41, 198],
  prctl: [157, 167],
  seccomp: [317, 277],
  fcntl: [72, 25],
  chdir: [80, 49],
  capget: [125, 90],
  capset: [126, 91],
  pipe2: [293, 59],
} as const satisfies Record<string, readonly [x64: number, arm64: number]>;

export type Call = keyof typeof NUMBERS;
export type Argument = number | Uint8Array | string;

/** PATH_MAX with its final zero. */
const MAX_NAME = 4096;

/** Result of a call: what it returned, or −errno. */
export interface Kernel {
  arch: Arch;
  /** At most one of the arguments is a string. */
  call(name: Call, ...args: Argument[]): number;
  /** Resets a signal to its default. */
  resetSignal(signal: number): void;
  /** Becomes another program with this process's environment; returns errno, since it only returns where that failed. */
  exec(path: string, argv: readonly string[]): number;
}

export const O = {
  RDONLY: 0,
  WRONLY: 0o1,
  CREAT: 0o100,
  EXCL: 0o200,
  PATH: 0o10000000,
  CLOEXEC: 0o2000000,
} as const;
/** The one open flag that differs. */
export const O_NOFOLLOW: Readonly<Record<Arch, number>> = { x64: 0o400000, arm64: 0o100000 };
export const AT_FDCWD = -100;

const encoder = new TextEncoder();

/** Null where this isn't Linux on a known architecture with a C library of that name. */
export function openKernel(): Kernel | null {
  const { arch } = process;
  if (process.platform !== "linux" || (arch !== "x64" && arch !== "arm64")) return null;
  const libc = openLibc();
  if (libc === null) return null;
  const errno = (): number => {
    const place = libc.__errno_location();
    return place === null ? 0 : read.i32(place, 0);
  };
  // One place for names, since a home directory has many of them: a buffer for each took most of the time.
  const name = new Uint8Array(MAX_NAME);
  const nameAddress = addressOf(name);
  const word = (value: Argument): bigint => {
    if (typeof value === "number") return BigInt(value);
    if (typeof value !== "string") return addressOf(value);
    const { read, written } = encoder.encodeInto(value, name.subarray(0, -1));
    // Cut, it would be another file's name. An address of nothing makes the call fail.
    if (read < value.length) return 0n;
    name[written] = 0;
    return nameAddress;
  };
  return {
    arch,
    call(name, ...args) {
      const at = (index: number): bigint => word(args[index] ?? 0);
      const result = Number(
        libc.syscall(BigInt(NUMBERS[name][arch === "x64" ? 0 : 1]), at(0), at(1), at(2), at(3), at(4)),
      );
      return result === -1 ? -errno() : result;
    },
    resetSignal: (signal) => void libc.signal(signal, 0n),
    exec(path, argv) {
      const strings = argv.map(cString);
      const table = new BigUint64Array([...strings.map((text) => BigInt(Number(ptr(text)))), 0n]);
      libc.execv(cString(path), table);
      return errno();
    },
  };
}

/** Address of a buffer that the caller keeps. */
export function addressOf(buffer: Uint8Array): bigint {
  return BigInt(Number(ptr(buffer)));
}

// Only this name: dlopen falls back to a file of the current directory, and nobody names a library of theirs like that by chance.
const LIBC = "libc.so.6";

function openLibc() {
  try {
    return dlopen(LIBC, {
      syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" },
      execv: { args: ["buffer", "buffer"], returns: "i32" },
      signal: { args: ["i32", "i64"], returns: "i64" },
      __errno_location: { args: [], returns: "ptr" },
    }).symbols;
  } catch {
    // No such library: said by the caller, who can't start anything then.
    return null;
  }
}

function cString(text: string): Uint8Array {
  return Buffer.from(`${text}\0`);
}
