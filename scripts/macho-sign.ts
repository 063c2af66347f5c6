/** Gives a Mach-O executable an ad hoc signature, as a linker would: page hashes and no certificate. What is right is judged by macho.ts. */
import {
  DIRECTORY_MAGIC,
  HASH_BYTES,
  HASH_SHA256,
  type MachO,
  SIGNATURE_MAGIC,
  pageHashes,
  parseMachO,
} from "./macho.ts";

const PAGE_BITS = 12;
const PAGE_BYTES = 2 ** PAGE_BITS;
/** No certificate stands behind it. */
const FLAG_ADHOC = 2;
/** Tells codesign that it may replace this signature without being forced to. */
const FLAG_LINKER_SIGNED = 0x20000;
/** The first version with the fields about the executable segment, and its length up to the identifier. */
const DIRECTORY_VERSION = 0x20400;
const DIRECTORY_HEAD_BYTES = 88;
const MAIN_BINARY = 1;
/** Header and index of one part are 20 bytes; lld starts the part at a multiple of eight, and ends the heads at one of sixteen. */
const SUPERBLOB_HEAD_BYTES = 24;
const ALIGN = 16;

/**
 * The same program with a signature whose hashes are right, byte for byte as lld and llvm-objcopy write it, which macOS
 * is known to run. The old signature is dropped, whatever it said: certificate, entitlements, hardened runtime. Throws
 * MachOError for what parseMachO refuses.
 */
export function signAdHoc(bytes: Buffer, identifier: string): Buffer {
  const file = parseMachO(bytes);
  const size = signatureBytes(file.offset, identifier);
  const signed = Buffer.alloc(file.offset + size);
  bytes.copy(signed, 0, 0, file.offset);
  // Before hashing: both sizes are on the first page.
  signed.writeUInt32LE(size, file.command + 12);
  resize(signed, file);
  writeSignature(signed, file, identifier);
  return signed;
}

function signatureBytes(codeBytes: number, identifier: string): number {
  return SUPERBLOB_HEAD_BYTES + hashOffset(identifier) + Math.ceil(codeBytes / PAGE_BYTES) * HASH_BYTES;
}

function hashOffset(identifier: string): number {
  return roundUp(SUPERBLOB_HEAD_BYTES + DIRECTORY_HEAD_BYTES + identifier.length + 1, ALIGN) - SUPERBLOB_HEAD_BYTES;
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}

/** __LINKEDIT ends with the file, in the file and in memory. */
function resize(signed: Buffer, { linkedit, pageBytes }: MachO): void {
  const fileSize = signed.length - linkedit.fileOffset;
  signed.writeBigUInt64LE(BigInt(roundUp(fileSize, pageBytes)), linkedit.command + 32);
  signed.writeBigUInt64LE(BigInt(fileSize), linkedit.command + 48);
}

function writeSignature(signed: Buffer, file: MachO, identifier: string): void {
  const signature = signed.subarray(file.offset);
  // One part, in slot 0: the CodeDirectory.
  [SIGNATURE_MAGIC, signature.length, 1, 0, SUPERBLOB_HEAD_BYTES].forEach((word, index) =>
    signature.writeUInt32BE(word, 4 * index),
  );
  const directory = signature.subarray(SUPERBLOB_HEAD_BYTES);
  const hashes = pageHashes(signed.subarray(0, file.offset), PAGE_BYTES);
  writeDirectoryHead(directory, file, identifier, hashes.length);
  directory.write(`${identifier}\0`, DIRECTORY_HEAD_BYTES, "latin1");
  hashes.forEach((hash, page) => hash.copy(directory, hashOffset(identifier) + page * HASH_BYTES));
}

function writeDirectoryHead(directory: Buffer, file: MachO, identifier: string, pages: number): void {
  const flags = FLAG_ADHOC | FLAG_LINKER_SIGNED;
  const words = [DIRECTORY_MAGIC, directory.length, DIRECTORY_VERSION, flags, hashOffset(identifier)];
  [...words, DIRECTORY_HEAD_BYTES, 0, pages, file.offset].forEach((word, index) =>
    directory.writeUInt32BE(word, 4 * index),
  );
  directory.set([HASH_BYTES, HASH_SHA256, 0, PAGE_BITS], 36);
  directory.writeBigUInt64BE(BigInt(file.text.fileOffset), 64);
  directory.writeBigUInt64BE(BigInt(file.text.fileSize), 72);
  directory.writeBigUInt64BE(BigInt(MAIN_BINARY), 80);
}
