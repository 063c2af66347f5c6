/** The system-call filter, run as the kernel would run it. The kernel itself is in sandbox.launcher.test.ts. */
import { describe, expect, test } from "bun:test";
import { encodeFilter, seccompFilter, type Arch, type FilterWants } from "../src/sandbox-seccomp.ts";

describe("the system-call filter", () => {
  const closed: FilterWants = {
    network: "off",
    unixSockets: "off",
    guardTruncate: false,
    guardSignals: null,
    sharedMemory: true,
  };
  const open: FilterWants = { ...closed, network: "on", unixSockets: "on" };
  const guarded: FilterWants = { ...closed, guardTruncate: true, guardSignals: [77, 99] };
  const [EPERM, EACCES, ENOSYS] = [1, 13, 38];
  const NR = {
    x64: {
      socket: 41,
      socketpair: 53,
      ring: 425,
      ioctl: 16,
      kill: 62,
      tgkill: 234,
      pidfd: 434,
      shmat: 30,
      semtimedop: 220,
      truncate: 76,
      openat: 257,
      openat2: 437,
      prlimit: 302,
      keyctl: 250,
      unshare: 272,
      clone: 56,
      clone3: 435,
      write: 1,
    },
    arm64: {
      socket: 198,
      socketpair: 199,
      ring: 425,
      ioctl: 29,
      kill: 129,
      tgkill: 131,
      pidfd: 434,
      shmat: 196,
      semtimedop: 192,
      truncate: 45,
      openat: 56,
      openat2: 437,
      prlimit: 261,
      keyctl: 219,
      unshare: 97,
      clone: 220,
      clone3: 435,
      write: 64,
    },
  } as const;

  /** What classic BPF would return: "kill", an errno, or 0 for allowed. */
  function run(
    arch: Arch,
    wants: FilterWants,
    nr: number,
    args: number[] = [],
    machine = arch === "x64" ? 0xc000003e : 0xc00000b7,
  ): number | "kill" {
    const bytes = encodeFilter(seccompFilter(arch, wants));
    const code = new DataView(bytes.buffer);
    const data = new DataView(new ArrayBuffer(64));
    data.setUint32(0, nr >>> 0, true);
    data.setUint32(4, machine, true);
    args.forEach((value, index) => data.setBigInt64(16 + 8 * index, BigInt(value), true));
    let accumulator = 0;
    for (let at = 0; ; at++) {
      const [op, k] = [code.getUint16(at * 8, true), code.getUint32(at * 8 + 4, true)];
      const jump = (hit: boolean): number => code.getUint8(at * 8 + (hit ? 2 : 3));
      if (op === 0x20) accumulator = data.getUint32(k, true);
      else if (op === 0x54) accumulator = (accumulator & k) >>> 0;
      else if (op === 0x15) at += jump(accumulator === k);
      else if (op === 0x35) at += jump(accumulator >= k);
      else if (op === 0x06) return k === 0x80000000 ? "kill" : k === 0x7fff0000 ? 0 : k & 0xffff;
      else throw new Error(`no such instruction: ${op}`);
    }
  }

  for (const arch of ["x64", "arm64"] as const) {
    const nr = NR[arch];
    test.each<[string, FilterWants, number, number[], number]>([
      ["a network socket", closed, nr.socket, [2, 1, 0], EACCES],
      ["a TCP socket of the multipath kind", closed, nr.socket, [2, 1, 262], EACCES],
      ["an IPv6 socket", closed, nr.socket, [10, 2, 0], EACCES],
      ["a unix socket", closed, nr.socket, [1, 1, 0], EACCES],
      ["a vsock", open, nr.socket, [40, 1, 0], EACCES],
      ["a packet socket", open, nr.socket, [17, 3, 0], EACCES],
      ["netlink", closed, nr.socket, [16, 3, 0], 0],
      ["a network socket, network on", open, nr.socket, [2, 1, 0], 0],
      ["a unix socket, unix sockets on", open, nr.socket, [1, 1, 0], 0],
      ["a stream pair", closed, nr.socketpair, [1, 1 | 0o2000000, 0], 0],
      ["a datagram pair", closed, nr.socketpair, [1, 2 | 0o4000, 0], EACCES],
      // The kernel makes a datagram pair of it.
      ["a raw pair", closed, nr.socketpair, [1, 3 | 0o4000, 0], EACCES],
      ["a pair that keeps messages apart", closed, nr.socketpair, [1, 5, 0], 0],
      ["a pair of another family", closed, nr.socketpair, [30, 1, 0], EACCES],
      ["a ring of system calls", open, nr.ring, [8, 0], ENOSYS],
      ["typing into the terminal", open, nr.ioctl, [0, 0x5412], EACCES],
      ["reading a window size", open, nr.ioctl, [0, 0x5413], 0],
      ["a key ring", open, nr.keyctl, [0], EPERM],
      ["a user namespace", open, nr.unshare, [0x10000000], EPERM],
      ["another namespace", open, nr.unshare, [0x00020000], 0],
      ["a child in a user namespace", open, nr.clone, [0x10000011, 0], EPERM],
      ["a thread", open, nr.clone, [0x3d0f00, 0], 0],
      ["a child whose flags can't be seen", open, nr.clone3, [0, 88], ENOSYS],
      ["new limits for another process", open, nr.prlimit, [77, 7, 0x1000, 0], EPERM],
      ["new limits from a far address", open, nr.prlimit, [77, 7, 0x1000_0000_0000, 0], EPERM],
      ["another process's limits, read", closed, nr.prlimit, [77, 7, 0, 0x1000], 0],
      ["limits of one's own", closed, nr.prlimit, [0, 7, 0x1000, 0], 0],
      ["a System V segment", closed, nr.shmat, [0, 0, 0], 0],
      ["a System V segment, no shared memory", { ...open, sharedMemory: false }, nr.shmat, [0, 0, 0], EACCES],
      ["a System V semaphore, no shared memory", { ...open, sharedMemory: false }, nr.semtimedop, [0, 0, 0], EACCES],
      ["a signal where Landlock confines them", closed, nr.kill, [77, 19], 0],
      ["a signal to a guarded process", guarded, nr.kill, [77, 19], EPERM],
      ["a signal to its group", guarded, nr.kill, [-99, 19], EPERM],
      ["a signal to everybody", guarded, nr.kill, [-1, 19], EPERM],
      ["a signal to a child", guarded, nr.kill, [78, 15], 0],
      ["a signal to one's own group", guarded, nr.kill, [0, 15], 0],
      ["a signal to a guarded thread", guarded, nr.tgkill, [77, 99, 19], EPERM],
      ["a handle of a process", guarded, nr.pidfd, [1, 0], ENOSYS],
      ["truncating by name", guarded, nr.truncate, [0, 0], EACCES],
      ["opening to read and empty", guarded, nr.openat, [0, 0, 0o1000], EACCES],
      ["opening to write and empty", guarded, nr.openat, [0, 0, 0o1001], 0],
      ["opening to read", guarded, nr.openat, [0, 0, 0], 0],
      ["an open whose flags can't be seen", guarded, nr.openat2, [0, 0], ENOSYS],
      ["an open where truncation is confined", closed, nr.openat, [0, 0, 0o1000], 0],
      ["anything else", closed, nr.write, [1], 0],
    ])(`${arch}: %s`, (_, wants, call, args, result) => {
      expect(run(arch, wants, call, args)).toBe(result);
    });

    test(`${arch}: calls of another architecture end the process`, () => {
      expect(run(arch, open, 41, [2], 0x40000003)).toBe("kill");
      expect(run(arch, open, 41, [2], arch === "x64" ? 0xc00000b7 : 0xc000003e)).toBe("kill");
    });
  }

  test("calls of the x32 kind end the process", () => {
    expect(run("x64", open, 0x40000000 + 41)).toBe("kill");
  });

  test("a hundred guarded ids still fit a jump", () => {
    const ids = Array.from({ length: 100 }, (_, index) => 1000 + index);
    const wants = { ...closed, guardSignals: ids };
    expect([run("x64", wants, 62, [1099]), run("x64", wants, 62, [-1000]), run("x64", wants, 62, [5])]).toEqual([
      EPERM,
      EPERM,
      0,
    ]);
  });
});
