/** Judges a built program by its bytes, for platforms that can't be run here: file type, processor, loader, libraries, version, signature. */
import { signatureProblems } from "./macho.ts";
import type { Target } from "./release-targets.ts";

/** Libraries that every system of a kind has, and the one that install.sh asks for on musl. */
const GLIBC_LIBRARIES =
  /^(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|libm\.so\.6|ld-linux-(x86-64|aarch64)\.so\.[12])$/;
const MUSL_LIBRARIES = /^(libc\.musl-(x86_64|aarch64)\.so\.1|libstdc\+\+\.so\.6)$/;
const ELF_MACHINES = { x64: 62, arm64: 183 } as const;
const PE_MACHINES = { x64: 0x8664, arm64: 0xaa64 } as const;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1n;
const DT_STRTAB = 5n;

/** What is wrong with the program, one line each; empty when it may be shipped. */
export function programProblems(bytes: Buffer, target: Target, version: string): string[] {
  const problems = formatProblems(bytes, target);
  if (!holdsVersion(bytes, version)) problems.push(`doesn't hold version ${version}`);
  return problems;
}

function formatProblems(bytes: Buffer, target: Target): string[] {
  switch (target.format) {
    case "elf":
      return orCutShort(() => elfProblems(bytes, target));
    case "pe":
      return orCutShort(() => peProblems(bytes, target));
    case "mach-o":
      return signatureProblems(bytes, target.arch);
    default:
      return target.format satisfies never;
  }
}

function orCutShort(judge: () => string[]): string[] {
  try {
    return judge();
  } catch (error) {
    if (error instanceof RangeError) return ["cut short: a field lies outside the file"];
    throw error;
  }
}

/** The bundle holds the version as a minified `name="1.2.3"`; Bun's own part of the file doesn't. */
function holdsVersion(bytes: Buffer, version: string): boolean {
  return bytes.includes(`="${version}"`);
}

/** elf(5), 64-bit little-endian. */
function elfProblems(bytes: Buffer, target: Target): string[] {
  if (bytes.readUInt32BE(0) !== 0x7f454c46 || bytes.readUInt8(4) !== 2) return ["not a 64-bit ELF file"];
  const machine = bytes.readUInt16LE(18);
  if (machine !== ELF_MACHINES[target.arch]) return [`for ELF machine ${machine}, not ${target.arch}`];
  const segments = elfSegments(bytes);
  const interpreter = segments.find(({ kind }) => kind === PT_INTERP);
  const loader = interpreter && textAt(bytes, interpreter.offset);
  if (loader !== target.loader) return [`asks for the loader ${loader ?? "none"}, not ${target.loader ?? "none"}`];
  const allowed = target.name.endsWith("-musl") ? MUSL_LIBRARIES : GLIBC_LIBRARIES;
  const strange = neededLibraries(bytes, segments).filter((name) => !allowed.test(name));
  return strange.map((name) => `needs the library ${name}`);
}

interface ElfSegment {
  kind: number;
  offset: number;
  address: number;
  size: number;
}

function elfSegments(bytes: Buffer): ElfSegment[] {
  const [table, entryBytes, count] = [number64(bytes, 32), bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => {
    const at = table + index * entryBytes;
    const [offset, address, size] = [number64(bytes, at + 8), number64(bytes, at + 16), number64(bytes, at + 32)];
    return { kind: bytes.readUInt32LE(at), offset, address, size };
  });
}

/** DT_NEEDED of the dynamic section. Its string table is given by address, so the segment that holds it is looked up. */
export function neededLibraries(bytes: Buffer, segments: readonly ElfSegment[] = elfSegments(bytes)): string[] {
  const dynamic = segments.find(({ kind }) => kind === PT_DYNAMIC);
  if (!dynamic) return [];
  const entries = Array.from({ length: Math.floor(dynamic.size / 16) }, (_, index) => {
    const at = dynamic.offset + index * 16;
    return { tag: bytes.readBigUInt64LE(at), value: number64(bytes, at + 8) };
  });
  const address = entries.find(({ tag }) => tag === DT_STRTAB)?.value ?? 0;
  const holder = segments.find((one) => one.kind === 1 && address >= one.address && address < one.address + one.size);
  if (!holder) return [];
  const strings = holder.offset + address - holder.address;
  return entries.filter(({ tag }) => tag === DT_NEEDED).map(({ value }) => textAt(bytes, strings + value));
}

/** The PE header: winnt.h's IMAGE_FILE_HEADER behind the offset at 0x3c. */
function peProblems(bytes: Buffer, target: Target): string[] {
  const at = bytes.readUInt32LE(0x3c);
  if (bytes.toString("latin1", 0, 2) !== "MZ" || bytes.toString("latin1", at, at + 4) !== "PE\0\0")
    return ["not a PE file"];
  const machine = bytes.readUInt16LE(at + 4);
  if (machine !== PE_MACHINES[target.arch]) return [`for PE machine 0x${machine.toString(16)}, not ${target.arch}`];
  const end = peEnd(bytes, at);
  return end > bytes.length ? [`cut short: sections end at ${end}, the file at ${bytes.length}`] : [];
}

/** Where the last section ends in the file. */
function peEnd(bytes: Buffer, at: number): number {
  const sections = at + 24 + bytes.readUInt16LE(at + 20);
  const ends = Array.from({ length: bytes.readUInt16LE(at + 6) }, (_, index) => {
    const header = sections + index * 40;
    return bytes.readUInt32LE(header + 16) + bytes.readUInt32LE(header + 20);
  });
  return Math.max(0, ...ends);
}

function textAt(bytes: Buffer, at: number): string {
  const end = bytes.indexOf(0, at);
  return bytes.toString("latin1", at, end < 0 ? bytes.length : end);
}

function number64(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}
