/** Small executables of each format, with just the headers that a loader looks at first. They run nowhere. */

const PAGE = 4096;

export interface MachOShape {
  arch?: "x64" | "arm64";
  /** Pages of headers and code, of 4 KiB on x64 and 16 KiB on arm64. */
  pages?: number;
  /** Bytes kept for the signature. */
  signatureBytes?: number;
}

/** Where the fields are that signing changes. */
export const MACHO_PLACES = { linkedit: 256, signature: 328 } as const;

/** Three segments, as a linker lays them out: __PAGEZERO, __TEXT with the headers and code, __LINKEDIT with the signature. */
export function machO({ arch = "x64", pages = 5, signatureBytes = 64 }: MachOShape = {}): Buffer {
  const textBytes = pages * (arch === "x64" ? PAGE : 4 * PAGE);
  // A signature starts at a multiple of 16, rarely of a page.
  const offset = textBytes + 16;
  const file = Buffer.alloc(offset + signatureBytes);
  for (let at = 1024; at < textBytes; at += 1) file[at] = (at * 31) & 0xff;
  file.writeUInt32LE(0xfeedfacf, 0);
  file.writeUInt32LE(arch === "x64" ? 0x01000007 : 0x0100000c, 4);
  [2, 4, 3 * 72 + 80 + 16].forEach((word, index) => file.writeUInt32LE(word, 12 + 4 * index));
  const base = 0x100000000;
  writeSegment(file, 32, "__PAGEZERO", [0, base, 0, 0]);
  writeSegment(file, 104, "__TEXT", [base, textBytes, 0, textBytes], 1);
  writeSection(file, 176, [base + 1024, textBytes - 1024], 1024);
  const { linkedit, signature } = MACHO_PLACES;
  writeSegment(file, linkedit, "__LINKEDIT", [base + textBytes, 16 * PAGE, textBytes, file.length - textBytes]);
  [0x1d, 16, offset, signatureBytes].forEach((word, index) => file.writeUInt32LE(word, signature + 4 * index));
  return file;
}

function writeSegment(file: Buffer, at: number, name: string, numbers: readonly number[], sections = 0): void {
  file.writeUInt32LE(0x19, at);
  file.writeUInt32LE(72 + 80 * sections, at + 4);
  file.write(name, at + 8, "latin1");
  numbers.forEach((value, index) => file.writeBigUInt64LE(BigInt(value), at + 24 + 8 * index));
  file.writeUInt32LE(sections, at + 64);
}

function writeSection(file: Buffer, at: number, numbers: readonly number[], offset: number): void {
  file.write("__text", at, "latin1");
  file.write("__TEXT", at + 16, "latin1");
  numbers.forEach((value, index) => file.writeBigUInt64LE(BigInt(value), at + 32 + 8 * index));
  file.writeUInt32LE(offset, at + 48);
}

export interface ElfShape {
  machine?: number;
  loader?: string;
  libraries?: readonly string[];
  tail?: string;
}

/** One loadable segment at an address other than its offset, an interpreter, and a dynamic section that names libraries. */
export function elf({
  machine = 62,
  loader = "/lib64/ld-linux-x86-64.so.2",
  libraries = [],
  tail = "",
}: ElfShape = {}): Buffer {
  const [loaderAt, dynamicAt, stringsAt, address] = [0x200, 0x300, 0x500, 0x400000];
  const file = Buffer.alloc(0x800);
  file.writeUInt32BE(0x7f454c46, 0);
  file.set([2, 1], 4);
  file.writeUInt16LE(machine, 18);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(3, 56);
  const names = libraries.map((_, index) => 1 + libraries.slice(0, index).join("\0").length + (index > 0 ? 1 : 0));
  file.write(`\0${libraries.join("\0")}\0`, stringsAt, "latin1");
  file.write(`${loader}\0`, loaderAt, "latin1");
  const dynamic = [...names.map((at) => [1, at]), [5, address + stringsAt], [0, 0]].flat();
  dynamic.forEach((value, index) => file.writeBigUInt64LE(BigInt(value), dynamicAt + 8 * index));
  const segments = [
    [1, 0, address, file.length],
    [3, loaderAt, address + loaderAt, loader.length + 1],
    [2, dynamicAt, address + dynamicAt, 8 * dynamic.length],
  ];
  segments.forEach(([kind = 0, offset = 0, at = 0, size = 0], index) => {
    file.writeUInt32LE(kind, 64 + 56 * index);
    [offset, at, at, size].forEach((value, field) => file.writeBigUInt64LE(BigInt(value), 72 + 56 * index + 8 * field));
  });
  return Buffer.concat([file, Buffer.from(tail)]);
}

/** A DOS stub, a PE header and one section that ends with the file. */
export function pe({ machine = 0x8664, tail = "" }: { machine?: number; tail?: string } = {}): Buffer {
  const file = Buffer.alloc(0x400);
  file.write("MZ", 0, "latin1");
  file.writeUInt32LE(0x80, 0x3c);
  file.write("PE\0\0", 0x80, "latin1");
  file.writeUInt16LE(machine, 0x84);
  file.writeUInt16LE(1, 0x86);
  file.writeUInt16LE(0xf0, 0x94);
  file.writeUInt32LE(0x200, 0x98 + 0xf0 + 16);
  file.writeUInt32LE(0x200, 0x98 + 0xf0 + 20);
  return Buffer.concat([file, Buffer.from(tail)]);
}
