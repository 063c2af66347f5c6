/** install.ps1: on Windows it is run against a release on loopback; elsewhere only what can be read off its text is judged. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zip } from "../scripts/release-archive.ts";
import { scriptText } from "./support/install-kit.ts";

const path = join(import.meta.dir, "../install.ps1");
const text = readFileSync(path, "utf8");
const lines = text.trimEnd().split("\n");
const LAST = "if ($Uninstall) { Uninstall-Shiro } else { Install-Shiro }";

describe("its text", () => {
  test("does nothing before its last line, which is one statement, so that a cut script does nothing", () => {
    const outside = lines.filter((line) => /^[^\s#]/.test(line) && line !== "}");
    expect(outside.at(0)).toBe("param([switch]$Uninstall)");
    expect(outside.at(-1)).toBe(LAST);
    expect(lines.at(-1)).toBe(LAST);
    for (const line of outside.slice(1, -1)) expect(line).toMatch(/^function [A-Z]\w+-Shiro\w*(\(.*\))? \{$/);
  });

  test("defines what it calls", () => {
    const defined = new Set([...text.matchAll(/^function ([\w-]+)/gm)].map((match) => match[1]));
    const called = new Set([...text.matchAll(/\b[A-Z]\w+-Shiro\w*/g)].map((match) => match[0]));
    expect([...called].filter((name) => !defined.has(name))).toEqual([]);
  });

  test("verifies before it unpacks, tries before it replaces", () => {
    const body = text.slice(text.indexOf("function Install-Shiro"));
    const order = ["Assert-ShiroChecksum", "Expand-Archive", "Test-ShiroProgram", "Move-ShiroIntoPlace"];
    const places = order.map((word) => body.indexOf(word));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  test("knows the variables that install.sh knows", () => {
    const named = (script: string): string[] => [...new Set(script.match(/\bSHIRO_[A-Z_]+/g))].toSorted();
    expect(named(text)).toEqual(named(scriptText()));
  });

  test("sets none of PowerShell's own variables, and holds what Windows PowerShell reads as it is written", () => {
    const set = [...text.matchAll(/\$(\w+) = /g)].map((match) => (match[1] ?? "").toLowerCase());
    const own = ["args", "error", "home", "host", "input", "matches", "pid", "pshome", "this", "true", "false", "null"];
    expect(set.filter((name) => own.includes(name))).toEqual([]);
    expect(text).toMatch(/^[\n -~]*$/);
  });
});

const shell = process.platform === "win32" ? (Bun.which("powershell") ?? Bun.which("pwsh")) : null;
if (!shell) console.error("!! no PowerShell on Windows here: install.ps1 is read, not run");

describe.skipIf(!shell)("on Windows", () => {
  const files = new Map<string, Uint8Array | string>();
  let base: string;
  let server: ReturnType<typeof Bun.serve>;
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), "shiro-install-"));
    server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        const body = files.get(new URL(request.url).pathname);
        return body === undefined ? new Response("no", { status: 404 }) : new Response(body);
      },
    });
  });
  afterAll(() => {
    server.stop(true);
    rmSync(base, { recursive: true, force: true });
  });

  /** Windows' own curl stands in for shiro: it is small, and answers --version. */
  function publish(name: string, checksum?: string): string {
    const program = readFileSync(join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "curl.exe"));
    const archive = zip("shiro.exe", program);
    const sum = checksum ?? createHash("sha256").update(archive).digest("hex");
    files.set(`/${name}/checksums.txt`, `${sum}  shiro-windows-x64.zip\n`);
    files.set(`/${name}/shiro-windows-x64.zip`, archive);
    return `http://127.0.0.1:${server.port}/${name}`;
  }

  async function run(url: string, into: string, ...args: string[]): Promise<{ code: number; output: string }> {
    const argv = [shell ?? "", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", path, ...args];
    const child = Bun.spawn(argv, {
      env: { ...process.env, SHIRO_BASE_DOWNLOAD_URL: url, SHIRO_INSTALL_DIR: into },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const output = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, output: output.join("") };
  }

  test("installs, replaces and removes", async () => {
    const into = join(base, "good");
    for (let round = 0; round < 2; round += 1) {
      const installed = await run(publish("good"), into);
      expect(installed).toMatchObject({ code: 0, output: expect.stringContaining(`in ${into}`) });
      expect(readdirSync(into)).toEqual(["shiro.exe"]);
    }
    expect(await run("", into, "-Uninstall")).toMatchObject({ code: 0 });
    expect(readdirSync(into)).toEqual([]);
  });

  test.each<[string, () => string, string]>([
    ["the checksum is wrong", () => publish("wrong", "0".repeat(64)), "checksum mismatch"],
    ["the release isn't there", () => `http://127.0.0.1:${server.port}/nowhere`, "download failed"],
  ])("installs nothing when %s", async (name, url, message) => {
    const into = join(base, name.replaceAll(/\W/g, "-"));
    const result = await run(url(), into);
    expect(result.code).not.toBe(0);
    expect(result.output.replaceAll(/\s+/g, " ")).toContain(message);
    expect(existsSync(join(into, "shiro.exe"))).toBe(false);
  });

  test("a script that was cut short does nothing", async () => {
    const cut = join(base, "cut.ps1");
    for (const share of [0.5, 0.9, 0.995]) {
      writeFileSync(cut, text.slice(0, Math.floor(text.length * share)));
      const into = join(base, `cut-${share}`);
      const child = Bun.spawn([shell ?? "", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", cut], {
        env: { ...process.env, SHIRO_BASE_DOWNLOAD_URL: publish("good"), SHIRO_INSTALL_DIR: into },
        stdio: ["ignore", "ignore", "ignore"],
      });
      await child.exited;
      expect(existsSync(into)).toBe(false);
    }
  });
});
