/** The system-call filter as data: a classic BPF program for seccomp(2), built for one architecture. Installs nothing. */

export type Arch = "x64" | "arm64";

/** One sock_filter. */
export interface Instruction {
  code: number;
  jt: number;
  jf: number;
  k: number;
}

export interface FilterWants {
  network: "off" | "on";
  unixSockets: "off" | "on";
  guardTruncate: boolean;
  /** Ids signals must not reach; null where Landlock sees to it. */
  guardSignals: readonly number[] | null;
  /** System V segments, queues and semaphores: whatever else of the user's has some, they have no file that could be denied. */
  sharedMemory: boolean;
}

const LOAD = 0x20;
const JEQ = 0x15;
const JGE = 0x35;
const AND = 0x54;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const ERRNO = 0x00050000;

const EPERM = 1;
const EACCES = 13;
const ENOSYS = 38;

const NR_AT = 0;
const ARCH_AT = 4;
/** x32 calls on x64 have this bit and numbers of their own. */
const X32_BIT = 0x40000000;

const AUDIT_ARCH: Readonly<Record<Arch, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** System-call numbers the filter looks at; null where the architecture has no such call. */
const CALLS = {
  socket: [41, 198],
  socketpair: [53, 199],
  ioUringSetup: [425, 425],
  ioctl: [16, 29],
  addKey: [248, 217],
  requestKey: [249, 218],
  keyctl: [250, 219],
  prlimit: [302, 261],
  shmget: [29, 194],
  shmat: [30, 196],
  shmctl: [31, 195],
  msgget: [68, 186],
  msgsnd: [69, 189],
  msgrcv: [70, 188],
  msgctl: [71, 187],
  semget: [64, 190],
  semop: [65, 193],
  semtimedop: [220, 192],
  semctl: [66, 191],
  unshare: [272, 97],
  clone: [56, 220],
  clone3: [435, 435],
  truncate: [76, 45],
  open: [2, null],
  openat: [257, 56],
  openat2: [437, 437],
  kill: [62, 129],
  tkill: [200, 130],
  tgkill: [234, 131],
  rtSigqueueinfo: [129, 138],
  rtTgsigqueueinfo: [297, 240],
  pidfdOpen: [434, 434],
} as const satisfies Record<string, readonly [x64: number, arm64: number | null]>;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
const SOCK_TYPE = 0xf;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const CLONE_NEWUSER = 0x10000000;
/** Access mode and O_TRUNC; the second alone means: read-only, and emptied. */
const OPEN_BITS = 0x203;
const READ_ONLY_TRUNCATE = 0x200;

/** The whole program. Anything not named in it is allowed: Landlock is the barrier for files, this one for what it doesn't see. */
export function seccompFilter(arch: Arch, wants: FilterWants): Instruction[] {
  return [
    load(ARCH_AT),
    { code: JEQ, jt: 1, jf: 0, k: AUDIT_ARCH[arch] },
    give(KILL_PROCESS),
    load(NR_AT),
    ...(arch === "x64" ? [{ code: JGE, jt: 0, jf: 1, k: X32_BIT }, give(KILL_PROCESS)] : []),
    ...rules(wants).flatMap(([call, body]) => ruleFor(arch, call, body)),
    give(ALLOW),
  ];
}

/** As the kernel reads it: eight bytes per instruction, little endian. */
export function encodeFilter(program: readonly Instruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach(({ code, jt, jf, k }, index) => {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, jt);
    view.setUint8(index * 8 + 3, jf);
    view.setUint32(index * 8 + 4, k, true);
  });
  return new Uint8Array(view.buffer);
}

type Rule = readonly [call: keyof typeof CALLS, body: readonly Instruction[]];

function rules(wants: FilterWants): Rule[] {
  const signals = wants.guardSignals === null ? null : refuseWhen(0, signalTargets(wants.guardSignals), EPERM);
  return [
    ["socket", allowWhen(0, domains(wants), EACCES)],
    ["socketpair", socketpair(wants)],
    // Its operations would make sockets that the filter never sees.
    ["ioUringSetup", [refuse(ENOSYS)]],
    ["ioctl", refuseWhen(1, [TIOCSTI, TIOCLINUX], EACCES)],
    ["addKey", [refuse(EPERM)]],
    ["requestKey", [refuse(EPERM)]],
    ["keyctl", [refuse(EPERM)]],
    ["prlimit", othersLimits()],
    // Useless inside, since no ids can be mapped, but it gives the rights to reach much more of the kernel.
    ["unshare", refuseBit(0, CLONE_NEWUSER)],
    ["clone", refuseBit(0, CLONE_NEWUSER)],
    // Its flags are behind a pointer. C libraries fall back to clone.
    ["clone3", [refuse(ENOSYS)]],
    ...(wants.sharedMemory ? [] : SYSTEM_V.map((call): Rule => [call, [refuse(EACCES)]])),
    ...(wants.guardTruncate ? truncating() : []),
    ...(signals === null ? [] : signalling(signals)),
  ];
}

function domains(wants: FilterWants): number[] {
  return [
    AF_NETLINK,
    ...(wants.network === "on" ? [AF_INET, AF_INET6] : []),
    ...(wants.unixSockets === "on" ? [AF_UNIX] : []),
  ];
}

const SYSTEM_V = [
  ...(["shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl"] as const),
  ...(["semget", "semop", "semtimedop", "semctl"] as const),
];

/** A limit of zero ends a process as surely as a signal: new ones only for the caller, whose id is 0 there. Reading them is no harm. */
function othersLimits(): Instruction[] {
  return [
    load(argument(0)),
    { code: JEQ, jt: 0, jf: 1, k: 0 },
    give(ALLOW),
    // The pointer to the new limits, whole.
    load(argument(2)),
    { code: JEQ, jt: 0, jf: 2, k: 0 },
    load(argument(2) + 4),
    { code: JEQ, jt: 1, jf: 0, k: 0 },
    refuse(EPERM),
    give(ALLOW),
  ];
}

/** A stream pair is how node talks to its children. One of datagrams could send to any socket file, and "raw" is another name for that. */
function socketpair(wants: FilterWants): Instruction[] {
  if (wants.unixSockets === "on") return allowWhen(0, [AF_UNIX], EACCES);
  return [
    load(argument(0)),
    { code: JEQ, jt: 1, jf: 0, k: AF_UNIX },
    refuse(EACCES),
    load(argument(1)),
    { code: AND, jt: 0, jf: 0, k: SOCK_TYPE },
    { code: JEQ, jt: 1, jf: 0, k: SOCK_STREAM },
    { code: JEQ, jt: 0, jf: 1, k: SOCK_SEQPACKET },
    give(ALLOW),
    refuse(EACCES),
  ];
}

function truncating(): Rule[] {
  const flags = (index: number): Instruction[] => [
    load(argument(index)),
    { code: AND, jt: 0, jf: 0, k: OPEN_BITS },
    { code: JEQ, jt: 0, jf: 1, k: READ_ONLY_TRUNCATE },
    refuse(EACCES),
    give(ALLOW),
  ];
  return [
    ["truncate", [refuse(EACCES)]],
    ["open", flags(1)],
    ["openat", flags(2)],
    // Its flags are behind a pointer, which a filter can't follow.
    ["openat2", [refuse(ENOSYS)]],
  ];
}

function signalling(body: readonly Instruction[]): Rule[] {
  return [
    ["kill", body],
    ["tkill", body],
    ["tgkill", body],
    ["rtSigqueueinfo", body],
    ["rtTgsigqueueinfo", body],
    ["pidfdOpen", [refuse(ENOSYS)]],
  ];
}

/** Each id, its group, and "everybody". */
function signalTargets(ids: readonly number[]): number[] {
  return [...new Set([...ids.flatMap((id) => [id, -id]), -1])].map((id) => id >>> 0);
}

/** Runs `body`, which ends in a return, for one call, and is skipped for every other; the call's number stays loaded. */
function ruleFor(arch: Arch, call: keyof typeof CALLS, body: readonly Instruction[]): Instruction[] {
  const nr = CALLS[call][arch === "x64" ? 0 : 1];
  if (nr === null) return [];
  // A jump reaches 255 instructions, and the lists of ids are bounded by the caller.
  if (body.length > 255) throw new RangeError(`The filter for ${call} is too long`);
  return [{ code: JEQ, jt: 0, jf: body.length, k: nr }, ...body];
}

function refuseBit(index: number, bit: number): Instruction[] {
  return [
    load(argument(index)),
    { code: AND, jt: 0, jf: 0, k: bit },
    { code: JEQ, jt: 0, jf: 1, k: bit },
    refuse(EPERM),
    give(ALLOW),
  ];
}

function allowWhen(index: number, values: readonly number[], errno: number): Instruction[] {
  return matching(index, values, give(ALLOW), refuse(errno));
}

function refuseWhen(index: number, values: readonly number[], errno: number): Instruction[] {
  return matching(index, values, refuse(errno), give(ALLOW));
}

/** Compares the low word: each of these arguments is an int, and the kernel ignores the rest. */
function matching(index: number, values: readonly number[], hit: Instruction, miss: Instruction): Instruction[] {
  const tests = values.map((value, at): Instruction => ({ code: JEQ, jt: values.length - at, jf: 0, k: value >>> 0 }));
  return [load(argument(index)), ...tests, miss, hit];
}

/** Offset of an argument's low word in seccomp_data. */
function argument(index: number): number {
  return 16 + 8 * index;
}

function load(offset: number): Instruction {
  return { code: LOAD, jt: 0, jf: 0, k: offset };
}

function give(action: number): Instruction {
  return { code: RETURN, jt: 0, jf: 0, k: action };
}

function refuse(errno: number): Instruction {
  return give(ERRNO | errno);
}
