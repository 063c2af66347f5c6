/** An entry of `mcpServers` made of what a person typed. Writes and starts nothing. */
import { UserError } from "./errors.ts";
import { parseMcpServer } from "./mcp-config.ts";
import type { JsonObject } from "./types.ts";

export interface TypedServer {
  name: string;
  /** What the person said that it is; left out where its form tells. */
  kind?: "local" | "remote";
  /** An address alone, or a command with its arguments. */
  target: readonly string[];
  /** `NAME=value`. */
  env: readonly string[];
  /** `Name: value`. */
  headers: readonly string[];
}

/** Throws UserError for a bad name, address, variable or header. */
export function entryOf(typed: TypedServer): JsonObject {
  const [first, ...rest] = typed.target;
  if (first === undefined)
    throw new UserError(`What is "${typed.name}"? Give a command (-- command args…) or an address`);
  // Whatever has the form of an address is no program, or a mistyped one would be started.
  const remote = typed.kind === "remote" || (rest.length === 0 && /^[a-z][a-z0-9+.-]*:\/\//i.test(first));
  if (remote && typed.env.length > 0) throw new UserError("--env is for local servers; a remote one takes --header");
  if (!remote && typed.headers.length > 0)
    throw new UserError("--header is for remote servers; a local one takes --env");
  const entry = remote ? remoteEntry(first, typed.headers) : localEntry(first, rest, typed.env);
  parseMcpServer(typed.name, entry);
  return entry;
}

function remoteEntry(url: string, headers: readonly string[]): JsonObject {
  // One with `${VAR}` in it is checked when it is connected to.
  if (!/^https?:\/\/\S+$/i.test(url) || !(url.includes("${") || URL.canParse(url)))
    throw new UserError(`"${url.slice(0, 80)}" is no address that begins with http:// or https://`);
  return { type: "http", url, ...pairs("headers", headers, /^([!#$%&'*+.^`|~\w-]+)\s*:\s*(.*)$/s, "Name: value") };
}

function localEntry(command: string, args: string[], env: readonly string[]): JsonObject {
  return {
    command,
    ...(args.length > 0 ? { args } : {}),
    ...pairs("env", env, /^([A-Za-z_]\w*)=(.*)$/s, "NAME=value"),
  };
}

function pairs(key: string, texts: readonly string[], form: RegExp, shape: string): JsonObject {
  if (texts.length === 0) return {};
  const entries = texts.map((text) => {
    const found = form.exec(text);
    if (!found) throw new UserError(`"${text.slice(0, 40)}" is not of the form ${shape}`);
    return [found[1] ?? "", found[2] ?? ""];
  });
  return { [key]: Object.fromEntries(entries) };
}
