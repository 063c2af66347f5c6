/** A release on loopback, shells to install from it, and stand-ins for the programs that tell what machine this is. Judges nothing. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type Server, createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tarGz } from "../../scripts/release-archive.ts";
import { TARGETS, archiveName } from "../../scripts/release-targets.ts";

export const SCRIPT = join(import.meta.dir, "../../install.sh");

/** What the release's program prints for --version. */
export const STAND_IN_VERSION = "shiro 9.9.9 (stand-in)";

export interface InstallRun {
  code: number;
  stdout: string;
  stderr: string;
  /** The directory it was to install into, and what is there afterwards. */
  into: string;
  files: string[];
  /** What was asked of the server meanwhile. */
  requests: string[];
}

export interface InstallQuery {
  /** By default the first shell found. */
  shell?: string;
  env?: Record<string, string | undefined>;
  args?: string[];
  /** Fed to the shell as the script, instead of the file. */
  input?: string;
  script?: string;
}

export interface ReleaseChange {
  /** In checksums.txt, instead of the right one. */
  checksum?: string;
  /** The program's text. */
  program?: string;
  /** The archive is whole but shorter than it was. */
  shortened?: boolean;
  /** The connection ends in the middle of the archive. */
  dropped?: boolean;
}

export interface InstallKit {
  base: string;
  /** Makes a release under a path of its own; returns its URL. */
  publish(name: string, change?: ReleaseChange): string;
  /** The URL of nothing. */
  nowhere: string;
  run(url: string, query?: InstallQuery): Promise<InstallRun>;
  /** A directory of scripts, to be put first on PATH. */
  fakes(programs: Record<string, string>): string;
  /** A directory that holds only these programs of this machine, to be the whole PATH; null when one is missing. */
  toolbox(programs: readonly string[], from?: (name: string) => string | null): string | null;
  close(): void;
}

/** What install.sh uses beside a downloader. */
export const USED_TOOLS = "sh tar gzip mktemp id uname grep cut sed head sha256sum cp chmod mv mkdir rm cat ldd".split(
  " ",
);

export async function openInstallKit(): Promise<InstallKit> {
  const base = mkdtempSync(join(tmpdir(), "shiro-install-"));
  const files = new Map<string, { bytes: Buffer; dropped: boolean }>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const file = files.get(path);
    if (!file) return void response.writeHead(404).end("no");
    response.writeHead(200, { "content-length": file.bytes.length });
    if (file.dropped) return void response.write(file.bytes.subarray(0, 100), () => response.destroy());
    return void response.end(file.bytes);
  });
  const origin = await listening(server);
  return {
    base,
    nowhere: `${origin}/nowhere`,
    publish(name, change = {}) {
      for (const [path, bytes] of releaseFiles(change))
        files.set(`/${name}/${path}`, { bytes, dropped: change.dropped === true && path !== "checksums.txt" });
      return `${origin}/${name}`;
    },
    async run(url, query = {}) {
      const into = query.env?.["SHIRO_INSTALL_DIR"] ?? mkdtempSync(join(base, "bin-"));
      requests.length = 0;
      const result = await runScript(query, { HOME: base, SHIRO_INSTALL_DIR: into, SHIRO_BASE_DOWNLOAD_URL: url });
      return { ...result, into, files: existsSync(into) ? readdirSync(into) : [], requests: [...requests] };
    },
    fakes: (programs) => writePrograms(mkdtempSync(join(base, "fakes-")), programs),
    toolbox: (programs, from = Bun.which) => linkPrograms(mkdtempSync(join(base, "tools-")), programs, from),
    close() {
      server.close();
      server.closeAllConnections();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Listens on TCP, so the address is no string.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function* releaseFiles(change: ReleaseChange): Generator<[string, Buffer]> {
  const program = change.program ?? `#!/bin/sh\necho "${STAND_IN_VERSION}"\n`;
  const whole = tarGz("shiro", Buffer.from(program), 0);
  const archive = change.shortened ? whole.subarray(0, 40) : whole;
  const sum = change.checksum ?? createHash("sha256").update(whole).digest("hex");
  yield ["checksums.txt", Buffer.from(TARGETS.map((target) => `${sum}  ${archiveName(target)}\n`).join(""))];
  for (const target of TARGETS) yield [archiveName(target), archive];
}

function shellArgv(shell: string): string[] {
  return shell.endsWith("busybox") ? [shell, "sh"] : [shell];
}

async function runScript(
  query: InstallQuery,
  defaults: Record<string, string>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const shell = shellArgv(query.shell ?? "sh");
  const script = query.script ?? SCRIPT;
  const child = Bun.spawn(
    query.input === undefined
      ? [...shell, script, ...(query.args ?? [])]
      : [...shell, "-s", "--", ...(query.args ?? [])],
    {
      env: { PATH: process.env["PATH"], ...defaults, ...query.env },
      stdin: query.input === undefined ? "ignore" : new Blob([query.input]),
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

function writePrograms(folder: string, programs: Record<string, string>): string {
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return folder;
}

function linkPrograms(
  folder: string,
  programs: readonly string[],
  from: (name: string) => string | null,
): string | null {
  mkdirSync(folder, { recursive: true });
  for (const name of programs) {
    const real = from(name);
    if (!real) return null;
    symlinkSync(real, join(folder, name));
  }
  return folder;
}

/** The script's text. */
export function scriptText(): string {
  return readFileSync(SCRIPT, "utf8");
}
