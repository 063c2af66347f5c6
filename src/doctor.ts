/** `shiro doctor`: one plain report of what this installation is and what it lacks. Changes nothing. */
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Options } from "./args-options.ts";
import type { Args } from "./args.ts";
import type { LoadedConfig } from "./config.ts";
import { originRows } from "./doctor-config.ts";
import { resolveEndpoint } from "./endpoint.ts";
import { EXIT, messageOf } from "./errors.ts";
import { describeProxies, networkWarnings, redactUrl } from "./network.ts";
import type { Output } from "./output.ts";
import { projectPath, sessionsDir, type Home } from "./paths.ts";
import { sanitize } from "./sanitize.ts";
import { listSessions } from "./sessions.ts";
import { configOf } from "./setup-config.ts";
import { gateOf } from "./setup-gate.ts";
import { serversOf } from "./setup-servers.ts";
import { terminalTraits } from "./terminal-traits.ts";
import { findShell } from "./tool-bash.ts";
import { VERSION } from "./version.ts";

export interface DoctorQuery {
  options: Options;
  env: Record<string, string | undefined>;
  cwd: string;
  online: boolean;
}

interface Check {
  name: string;
  /** Null: information only. */
  ok: boolean | null;
  text: string;
}

export async function runDoctor(
  args: Args,
  io: { stdout: Output; env: Record<string, string | undefined>; cwd: string },
): Promise<number> {
  const report = await doctorReport({ options: args.options, env: io.env, cwd: io.cwd, online: args.options.online });
  io.stdout.write(`${sanitize(report.text)}\n`);
  return report.failed ? EXIT.internal : EXIT.done;
}

/** The report; `failed` when one of its checks did. */
export async function doctorReport(query: DoctorQuery): Promise<{ text: string; failed: boolean }> {
  const checks: Check[] = [...platform(), ...programs(query.env), terminal(query)];
  const config = configured(query, checks);
  if (config) {
    checks.push(...homeChecks(config.home, query));
    await endpointChecks(query, config.config, checks);
    await rulesCheck(query, checks);
    await mcpChecks(query, config, checks);
    checks.push(...(await sandboxChecks(query)));
  }
  checks.push(...network(query.env));
  const lines = checks.map(
    (check) => `${check.ok === null ? "    " : check.ok ? "ok  " : "FAIL"} ${check.name.padEnd(12)} ${check.text}`,
  );
  const origins = config ? ["", ...originRows(config.config)] : [];
  return { text: [...lines, ...origins].join("\n"), failed: checks.some((check) => check.ok === false) };
}

function platform(): Check[] {
  return [
    { name: "version", ok: null, text: `shiro ${VERSION}, bun ${Bun.version}` },
    { name: "platform", ok: null, text: `${process.platform}-${process.arch}${libc()}${cpu()}` },
  ];
}

/** The C library that is in use, not one that is installed as well: Debian has a musl package. */
function libc(): string {
  if (process.platform !== "linux") return "";
  try {
    return /\/ld-musl-|-musl\/libc\.so/.test(readFileSync("/proc/self/maps", "utf8")) ? ", musl" : ", glibc";
  } catch {
    return ""; // a container without /proc, as below
  }
}

function cpu(): string {
  if (process.platform !== "linux" || process.arch !== "x64") return "";
  try {
    return /\bavx2\b/.test(readFileSync("/proc/cpuinfo", "utf8")) ? ", AVX2" : ", no AVX2 (baseline build)";
  } catch {
    return ""; // a container without /proc: nothing to say
  }
}

function programs(env: DoctorQuery["env"]): Check[] {
  const path = { PATH: env["PATH"] ?? "" };
  const which = (name: string, without: string): Check => {
    const found = Bun.which(name, path);
    return { name, ok: null, text: found ?? `not found: ${without}` };
  };
  return [
    which("git", "the git tools don't work"),
    which("rg", "grep uses the built-in engine"),
    { name: "shell", ok: null, text: findShell(env, process.platform).name },
  ];
}

function terminal(query: DoctorQuery): Check {
  const { env } = query;
  const traits = terminalTraits(env, {
    stdinIsTty: process.stdin.isTTY === true,
    stdoutIsTty: process.stdout.isTTY === true,
    platform: process.platform,
  });
  const words = [
    process.stdout.isTTY ? `${process.stdout.columns} columns` : "no terminal",
    env["TERM"] ? `TERM=${env["TERM"]}` : "TERM not set",
    traits.ascii ? "ASCII" : "UTF-8",
    traits.colour ? "colour" : "no colour",
    ...(traits.plain ? ["line mode"] : []),
    ...(traits.lowBandwidth ? ["low bandwidth"] : []),
  ];
  return { name: "terminal", ok: null, text: words.join(", ") };
}

function configured(query: DoctorQuery, checks: Check[]): { home: Home; config: LoadedConfig } | null {
  try {
    const found = configOf(query);
    const { reports, path } = found.config;
    checks.push(...reported("config", reports, existsSync(path) ? path : `${path} is not there; that is fine`));
    return found;
  } catch (error) {
    checks.push({ name: "config", ok: false, text: messageOf(error) });
    return null;
  }
}

/** A failed line per report, or one that says how it stands. */
function reported(name: string, reports: readonly string[], otherwise: string): Check[] {
  if (reports.length === 0) return [{ name, ok: true, text: otherwise }];
  return reports.map((text): Check => ({ name, ok: false, text }));
}

function homeChecks(home: Home, query: DoctorQuery): Check[] {
  const { sessions, unreadable } = listSessions(home.path, { cwd: projectPath(query.cwd) });
  return [
    { name: "home", ...homeState(home) },
    {
      name: "sessions",
      ok: unreadable.length === 0,
      text: unreadable[0] ? `unreadable: ${unreadable[0].path}` : `${sessions.length} of this directory`,
    },
  ];
}

function homeState(home: Home): Pick<Check, "ok" | "text"> {
  if (home.problem !== null) return { ok: false, text: home.problem };
  const place = existsSync(home.path) ? home.path : dirname(home.path);
  try {
    accessSync(place, constants.W_OK);
  } catch (error) {
    return { ok: false, text: `${place} can't be written: ${messageOf(error)}` };
  }
  for (const path of [home.path, sessionsDir(home.path)]) {
    if (!existsSync(path)) continue;
    const stat = statSync(path);
    if (!stat.isDirectory()) return { ok: false, text: `${path} is no directory` };
    const { mode } = stat;
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      return { ok: false, text: `${path} is open to others (mode ${(mode & 0o777).toString(8)}); chmod 700 it` };
  }
  return { ok: true, text: home.path };
}

async function endpointChecks(query: DoctorQuery, config: LoadedConfig, checks: Check[]): Promise<void> {
  try {
    const resolved = await resolveEndpoint(config, query.env);
    const { endpoint } = resolved;
    const forced = endpoint.forcedWire === null ? "" : `, ${endpoint.forcedWire} by SHIRO_WIRE`;
    checks.push({
      name: "endpoint",
      ok: null,
      text: `${endpoint.presetId}, ${endpoint.protocol}${forced}, ${redactUrl(endpoint.baseURL)}, model ${resolved.model ?? "not set"}`,
    });
    checks.push({ name: "key", ok: true, text: resolved.keySource });
    if (query.online) await online(query, endpoint, checks);
  } catch (error) {
    checks.push({ name: "endpoint", ok: false, text: messageOf(error) });
  }
}

async function online(
  query: DoctorQuery,
  endpoint: Awaited<ReturnType<typeof resolveEndpoint>>["endpoint"],
  checks: Check[],
): Promise<void> {
  const { listModels } = await import("./listing.ts");
  try {
    const models = await listModels(endpoint, { env: query.env, signal: AbortSignal.timeout(15_000) });
    checks.push({ name: "online", ok: true, text: `${models.length} models` });
  } catch (error) {
    checks.push({ name: "online", ok: false, text: messageOf(error) });
  }
}

async function rulesCheck(query: DoctorQuery, checks: Check[]): Promise<void> {
  const known = (await import("./mcp-meta.ts")).judgedMetaTools();
  try {
    const { reports, plugins, pluginProblems } = gateOf(query, () => known);
    checks.push(...reported("rules", reports, "as written"));
    checks.push({ name: "plugins", ok: null, text: plugins.plugins.map((plugin) => plugin.name).join(", ") || "none" });
    for (const { file, problem } of pluginProblems)
      checks.push({ name: "plugins", ok: false, text: `${file} was skipped: ${problem}` });
  } catch (error) {
    checks.push({ name: "rules", ok: false, text: messageOf(error) });
  }
}

/** Informs: a kernel without a sandbox is no fault of the installation. */
async function sandboxChecks(query: DoctorQuery): Promise<Check[]> {
  const { sandboxSummary } = await import("./command-sandbox.ts");
  const { sandboxHere } = await import("./setup-sandbox.ts");
  try {
    const reports: string[] = [];
    const status = await sandboxHere(query, (message) => void reports.push(message)).ready();
    const lost = status.lost.map((text): Check => ({ name: "sandbox", ok: null, text: `not held: ${text}` }));
    return [
      { name: "sandbox", ok: null, text: sandboxSummary(status) },
      ...lost,
      ...reports.map((text): Check => ({ name: "sandbox", ok: false, text })),
    ];
  } catch (error) {
    return [{ name: "sandbox", ok: false, text: messageOf(error) }];
  }
}

async function mcpChecks(
  query: DoctorQuery,
  config: { home: Home; config: LoadedConfig },
  checks: Check[],
): Promise<void> {
  const servers = serversOf(query, config);
  if (Object.keys(servers).length === 0) return void checks.push({ name: "mcp", ok: null, text: "no servers" });
  const { serverChecks } = await import("./doctor-mcp.ts");
  checks.push(...(await serverChecks(servers, config, query)).map((check) => ({ name: "mcp", ...check })));
}

function network(env: DoctorQuery["env"]): Check[] {
  const proxies = describeProxies(env);
  const text = [
    proxies.https ? `https ${proxies.https}` : "",
    proxies.http ? `http ${proxies.http}` : "",
    proxies.bypass ? `except ${proxies.bypass}` : "",
  ]
    .filter(Boolean)
    .join(", ");
  return [
    { name: "proxy", ok: null, text: text || "none" },
    ...networkWarnings(env).map((warning): Check => ({ name: "network", ok: false, text: warning })),
  ];
}
