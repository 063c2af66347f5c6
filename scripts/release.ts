/** Builds every platform into dist/release: binaries, archives, checksums, notes. Fails when versions differ or this platform's binary doesn't work. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { deflateRawSync, gzipSync, crc32 } from "node:zlib";
import { VERSION } from "../src/version.ts";
import { build, root } from "./build.ts";

/** Bun's name of each target; ours is `shiro-<name>`. */
const TARGETS: Readonly<Record<string, string>> = {
  "linux-x64": "bun-linux-x64-modern",
  "linux-x64-baseline": "bun-linux-x64-baseline",
  "linux-arm64": "bun-linux-arm64",
  "linux-x64-musl": "bun-linux-x64-musl",
  "linux-arm64-musl": "bun-linux-arm64-musl",
  "darwin-x64": "bun-darwin-x64",
  "darwin-arm64": "bun-darwin-arm64",
  "windows-x64": "bun-windows-x64",
};

const out = join(root, "dist/release");
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const names = wanted.length > 0 ? wanted : Object.keys(TARGETS);

checkVersions();
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const archives: string[] = [];
for (const name of names) archives.push(await release(name));
await smoke();
writeFileSync(join(out, "checksums.txt"), archives.map((path) => `${sha256(path)}  ${basename(path)}\n`).join(""));
writeFileSync(join(out, "notes.md"), notes());
console.log(`dist/release: ${archives.map((path) => basename(path)).join(", ")}`);

function checkVersions(): void {
  const packaged = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version; // npm's own file
  const tag = process.env["GITHUB_REF_TYPE"] === "tag" ? process.env["GITHUB_REF_NAME"]?.replace(/^v/, "") : undefined;
  const differing = [packaged, tag ?? VERSION].filter((version) => version !== VERSION);
  if (differing.length > 0)
    throw new Error(
      `Versions differ: src/version.ts says ${VERSION}, package.json ${packaged}, the tag ${tag ?? "nothing"}`,
    );
}

async function release(name: string): Promise<string> {
  const target = TARGETS[name];
  if (!target) throw new Error(`Unknown target "${name}". Available: ${Object.keys(TARGETS).join(", ")}`);
  const file = `shiro-${name}${name.startsWith("windows") ? ".exe" : ""}`;
  await build(join(out, file), target);
  const bytes = readFileSync(join(out, file));
  const archive = join(out, name.startsWith("windows") ? `shiro-${name}.zip` : `shiro-${name}.tar.gz`);
  writeFileSync(
    archive,
    name.startsWith("windows") ? zip("shiro.exe", bytes) : gzipSync(tar("shiro", bytes), { level: 9 }),
  );
  console.log(`${file}: ${megabytes(bytes.length)}, archive ${megabytes(readFileSync(archive).length)}`);
  return archive;
}

/** Runs what was built for this machine. */
async function smoke(): Promise<void> {
  const own = names.find((name) => name === `${process.platform}-${process.arch}`);
  if (!own) return console.log("no binary for this platform was built: nothing was run");
  const binary = join(out, `shiro-${own}`);
  const home = join(out, "smoke");
  for (const args of [["--version"], ["demo", "--yes"]]) {
    const child = Bun.spawn([binary, ...args], {
      env: { ...process.env, SHIRO_HOME: home },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [text, errors, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(`shiro ${args.join(" ")} exited ${code}:\n${text}${errors}`);
  }
  rmSync(home, { recursive: true, force: true });
}

/** The changelog's section of this version. */
function notes(): string {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const sections = changelog.split(/^(?=## \[)/m);
  const own =
    sections.find((section) => section.startsWith(`## [${VERSION}]`)) ??
    sections.find((section) => section.startsWith("## [Unreleased]"));
  if (!own) throw new Error(`CHANGELOG.md has no section for ${VERSION}`);
  return own;
}

/** A ustar archive of one executable file. */
function tar(name: string, bytes: Uint8Array): Buffer {
  const header = Buffer.alloc(512);
  const put = (at: number, text: string): void => void header.write(text, at, "latin1");
  put(0, name);
  put(100, "0000755\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${bytes.length.toString(8).padStart(11, "0")}\0`);
  put(
    136,
    `${Math.floor(Date.now() / 1000)
      .toString(8)
      .padStart(11, "0")}\0`,
  );
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\x0000");
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512), Buffer.alloc(1024)]);
}

/** A zip archive of one file, deflated. */
function zip(name: string, bytes: Uint8Array): Buffer {
  const packed = deflateRawSync(bytes, { level: 9 });
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(8, 4);
  common.writeUInt32LE(crc32(bytes), 10);
  common.writeUInt32LE(packed.length, 14);
  common.writeUInt32LE(bytes.length, 18);
  common.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, Buffer.from(name), packed]);
  const central = Buffer.concat([
    Buffer.from("PK\x01\x02\x14\x00", "latin1"),
    common,
    Buffer.alloc(14),
    Buffer.from(name),
  ]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
