/** Reads Mach-O executables and judges their code signature: every page hash, and what the signature covers. Signs nothing: macho-sign.ts does. */
import { createHash } from "node:crypto";

/** Numbers and layouts: <mach-o/loader.h>, and cs_blobs.h of xnu. Mach-O is little-endian here, signatures are big-endian. */
const MH_MAGIC_64 = 0xfeedfacf;
const MH_EXECUTE = 2;
const HEADER_BYTES = 32;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const CPUS = [
  { arch: "x64", cpu: 0x01000007, pageBytes: 0x1000 },
  { arch: "arm64", cpu: 0x0100000c, pageBytes: 0x4000 },
];

export const SIGNATURE_MAGIC = 0xfade0cc0;
export const DIRECTORY_MAGIC = 0xfade0c02;
/** The field that says which kind of hash: SHA-256. */
export const HASH_SHA256 = 2;
export const HASH_BYTES = 32;

export interface Segment {
  /** Where the load command starts. */
  command: number;
  vmSize: number;
  fileOffset: number;
  fileSize: number;
}

export interface MachO {
  arch: string;
  /** Of the processor: segments are sized in it. */
  pageBytes: number;
  /** The load command that points at the signature. */
  command: number;
  /** Where the signature starts: all before it is what gets hashed. */
  offset: number;
  size: number;
  text: Segment;
  /** The last segment; the signature is its end. */
  linkedit: Segment;
}

/** Thrown for what isn't a 64-bit Mach-O executable with room for a signature at its end. */
export class MachOError extends Error {}

/** Only the load commands; the signature's bytes may be anything. */
export function parseMachO(bytes: Buffer): MachO {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32LE(0) !== MH_MAGIC_64)
    throw new MachOError("not a 64-bit Mach-O file");
  const cpu = bytes.readUInt32LE(4);
  const known = CPUS.find((one) => one.cpu === cpu);
  if (!known) throw new MachOError(`unknown processor 0x${cpu.toString(16)}`);
  if (bytes.readUInt32LE(12) !== MH_EXECUTE) throw new MachOError("not an executable");
  const segments = new Map<string, Segment>();
  let signature: { command: number; offset: number; size: number } | undefined;
  for (const { kind, at } of loadCommands(bytes)) {
    if (kind === LC_SEGMENT_64) segments.set(segmentName(bytes, at), readSegment(bytes, at));
    if (kind === LC_CODE_SIGNATURE)
      signature = { command: at, offset: bytes.readUInt32LE(at + 8), size: bytes.readUInt32LE(at + 12) };
  }
  const [text, linkedit] = [segments.get("__TEXT"), segments.get("__LINKEDIT")];
  if (!signature || !text || !linkedit) throw new MachOError("no LC_CODE_SIGNATURE, __TEXT or __LINKEDIT");
  const { arch, pageBytes } = known;
  const file = { arch, pageBytes, ...signature, text, linkedit };
  checkEnd(bytes, file, [...segments.values()]);
  return file;
}

/** What is wrong with the signature, or the program not for `arch`: one line each. Empty when macOS would accept every page. */
export function signatureProblems(bytes: Buffer, arch?: string): string[] {
  try {
    const file = parseMachO(bytes);
    if (arch !== undefined && arch !== file.arch) return [`the program is for ${file.arch}, not ${arch}`];
    const blobs = signatureBlobs(bytes.subarray(file.offset, file.offset + file.size));
    const directory = blobs.get(0);
    if (!directory) return ["the signature has no CodeDirectory"];
    return directoryProblems(bytes, file, directory, blobs);
  } catch (error) {
    if (error instanceof MachOError) return [error.message];
    if (error instanceof RangeError) return ["cut short: a field lies outside the file"];
    throw error;
  }
}

function* loadCommands(bytes: Buffer): Generator<{ kind: number; at: number }> {
  const end = HEADER_BYTES + bytes.readUInt32LE(20);
  let at = HEADER_BYTES;
  for (let left = bytes.readUInt32LE(16); left > 0; left -= 1) {
    const size = bytes.readUInt32LE(at + 4);
    if (size < 8 || at + size > end) throw new MachOError(`load command at ${at} has an impossible size`);
    yield { kind: bytes.readUInt32LE(at), at };
    at += size;
  }
}

function segmentName(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at + 8, at + 24).replace(/\0+$/, "");
}

function readSegment(bytes: Buffer, at: number): Segment {
  const read = (offset: number): number => Number(bytes.readBigUInt64LE(at + offset));
  return { command: at, vmSize: read(32), fileOffset: read(40), fileSize: read(48) };
}

/** codesign and the kernel both want the signature to be the very end of __LINKEDIT, and that of the file. */
function checkEnd(bytes: Buffer, file: MachO, segments: readonly Segment[]): void {
  const end = file.offset + file.size;
  if (end !== bytes.length) throw new MachOError(`the signature ends at ${end}, the file at ${bytes.length}`);
  const { fileOffset, fileSize, vmSize } = file.linkedit;
  if (fileOffset + fileSize !== end) throw new MachOError("__LINKEDIT doesn't end with the signature");
  if (fileSize > vmSize) throw new MachOError("__LINKEDIT is larger in the file than in memory");
  if (segments.some((segment) => segment.fileOffset > fileOffset))
    throw new MachOError("__LINKEDIT is not the last segment");
}

/** The parts of a signature by their slot: 0 is the CodeDirectory. */
function signatureBlobs(signature: Buffer): Map<number, Buffer> {
  if (signature.readUInt32BE(0) !== SIGNATURE_MAGIC) throw new MachOError("the signature doesn't start with its magic");
  const blobs = new Map<number, Buffer>();
  for (let index = 0; index < signature.readUInt32BE(8); index += 1) {
    const [slot, start] = [signature.readUInt32BE(12 + 8 * index), signature.readUInt32BE(16 + 8 * index)];
    const size = signature.readUInt32BE(start + 4);
    if (start + size > signature.length) throw new MachOError(`part ${slot} of the signature is cut short`);
    blobs.set(slot, signature.subarray(start, start + size));
  }
  return blobs;
}

function directoryProblems(
  bytes: Buffer,
  file: MachO,
  directory: Buffer,
  blobs: ReadonlyMap<number, Buffer>,
): string[] {
  if (directory.readUInt32BE(0) !== DIRECTORY_MAGIC) return ["the CodeDirectory doesn't start with its magic"];
  if (directory.readUInt8(36) !== HASH_BYTES || directory.readUInt8(37) !== HASH_SHA256)
    return ["the CodeDirectory isn't of SHA-256"];
  const [hashes, special] = [directory.readUInt32BE(16), directory.readUInt32BE(24)];
  const [pages, limit] = [directory.readUInt32BE(28), directory.readUInt32BE(32)];
  const pageBytes = 2 ** directory.readUInt8(39);
  const slot = (index: number): Buffer =>
    directory.subarray(hashes + index * HASH_BYTES, hashes + (index + 1) * HASH_BYTES);
  const problems: string[] = [];
  if (limit !== file.offset) problems.push(`it covers ${limit} bytes, the signature starts at ${file.offset}`);
  if (pages !== Math.ceil(limit / pageBytes)) problems.push(`${pages} page hashes for ${limit} bytes`);
  const wrong = pageHashes(bytes.subarray(0, limit), pageBytes).filter((hash, index) => !hash.equals(slot(index)));
  if (wrong.length > 0) problems.push(`${wrong.length} of ${pages} page hashes differ`);
  for (const [kind, blob] of blobs)
    if (kind > 0 && kind <= special && !sha256(blob).equals(slot(-kind)))
      problems.push(`the hash of part ${kind} differs`);
  return problems;
}

/** The hash of each page; the last may be short. */
export function pageHashes(code: Buffer, pageBytes: number): Buffer[] {
  const pages = Math.ceil(code.length / pageBytes);
  return Array.from({ length: pages }, (_, page) => sha256(code.subarray(page * pageBytes, (page + 1) * pageBytes)));
}

function sha256(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}
