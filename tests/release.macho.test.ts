/** Mach-O signatures: which are found wrong, and that what is signed here is right. llvm-objcopy, where installed, is the judge. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signAdHoc } from "../scripts/macho-sign.ts";
import { MachOError, parseMachO, signatureProblems } from "../scripts/macho.ts";
import { MACHO_PLACES, machO } from "./support/programs.ts";

const base = mkdtempSync(join(tmpdir(), "shiro-macho-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const ARCHES = ["x64", "arm64"] as const;

describe.each(ARCHES)("%s:", (arch) => {
  const signed = signAdHoc(machO({ arch }), "shiro");
  const { offset } = parseMachO(signed);

  test("a signature made here is right, and signing again changes nothing", () => {
    expect(signatureProblems(signed, arch)).toEqual([]);
    expect(signAdHoc(signed, "shiro").equals(signed)).toBe(true);
  });

  test("it says where the code is, and that no certificate stands behind it", () => {
    const directory = signed.subarray(offset + 24);
    const { text } = parseMachO(signed);
    expect([directory.readBigUInt64BE(64), directory.readBigUInt64BE(72)]).toEqual([0n, BigInt(text.fileSize)]);
    expect(directory.readUInt32BE(12) & 2).toBe(2);
    expect(directory.toString("latin1", 88, 94)).toBe("shiro\0");
  });

  test("the program before its signature stays as it was, but for two sizes", () => {
    const plain = machO({ arch });
    const changed = [...plain.subarray(0, offset).keys()].filter((at) => plain[at] !== signed[at]);
    // Those of __LINKEDIT and of the load command that points at the signature.
    const { linkedit, signature } = MACHO_PLACES;
    const sizes = [linkedit + 32, linkedit + 48, signature + 12];
    expect(changed.filter((at) => !sizes.some((start) => at >= start && at < start + 8))).toEqual([]);
  });

  test("any changed byte of the program or of its hashes is noticed", () => {
    const hashes = offset + 24 + signed.readUInt32BE(offset + 24 + 16);
    for (const at of [0x180, 4095, 4096, 9999, offset - 1, hashes, signed.length - 1]) {
      const changed = Buffer.from(signed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect([at, signatureProblems(changed)]).toEqual([at, [expect.stringMatching(/^1 of \d+ page hashes differ$/)]]);
    }
  });

  test("cut anywhere, it is refused and never read past its end", () => {
    for (let length = 0; length < signed.length; length += 97)
      expect([length, signatureProblems(signed.subarray(0, length))]).not.toEqual([length, []]);
  });

  test.skipIf(!Bun.which("llvm-objcopy"))("llvm-objcopy signs the same, byte for byte", () => {
    const path = join(base, "shiro");
    writeFileSync(path, signed);
    expect(Bun.spawnSync(["llvm-objcopy", path, path]).exitCode).toBe(0);
    expect(readFileSync(path).equals(signed)).toBe(true);
  });
  if (!Bun.which("llvm-objcopy")) console.error("!! llvm-objcopy is not installed: it judges no signature");
});

test("a signature that was right for the program before it grew is wrong, and is made right", () => {
  const before = signAdHoc(machO({ pages: 5 }), "bun");
  const { offset, size } = parseMachO(before);
  // What a compiler does that puts a program into another one and keeps the signature.
  const grown = machO({ pages: 9, signatureBytes: size });
  before.copy(grown, parseMachO(grown).offset, offset);
  expect(signatureProblems(grown)).toEqual([
    `it covers ${offset} bytes, the signature starts at ${parseMachO(grown).offset}`,
    "2 of 6 page hashes differ",
  ]);
  expect(signatureProblems(signAdHoc(grown, "shiro"))).toEqual([]);
});

test.each<[string, (bytes: Buffer) => void, string]>([
  ["another magic", (bytes) => bytes.writeUInt32LE(0, 0), "not a 64-bit Mach-O file"],
  ["another processor", (bytes) => bytes.writeUInt32LE(7, 4), "unknown processor 0x7"],
  ["a library", (bytes) => bytes.writeUInt32LE(6, 12), "not an executable"],
  [
    "no signature",
    (bytes) => bytes.writeUInt32LE(0, MACHO_PLACES.signature),
    "no LC_CODE_SIGNATURE, __TEXT or __LINKEDIT",
  ],
  ["a command of no size", (bytes) => bytes.writeUInt32LE(0, 36), "load command at 32 has an impossible size"],
  [
    "__LINKEDIT elsewhere",
    (bytes) => bytes.writeBigUInt64LE(9n, MACHO_PLACES.linkedit + 48),
    "__LINKEDIT doesn't end with the signature",
  ],
  [
    "too small in memory",
    (bytes) => bytes.writeBigUInt64LE(1n, MACHO_PLACES.linkedit + 32),
    "__LINKEDIT is larger in the file than in memory",
  ],
])("%s is refused, to be judged as to be signed", (_, change, message) => {
  const bytes = machO();
  change(bytes);
  expect(signatureProblems(bytes)).toEqual([message]);
  expect(() => signAdHoc(bytes, "shiro")).toThrow(new MachOError(message));
});

test("a program for the other processor is not what was asked for", () => {
  expect(signatureProblems(signAdHoc(machO({ arch: "arm64" }), "shiro"), "x64")).toEqual([
    "the program is for arm64, not x64",
  ]);
});
