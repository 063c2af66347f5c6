/** Where the login to a remote MCP server is kept: one private file per server and address. Knows no protocol. */
import { join } from "node:path";
import * as v from "valibot";
import { sha256 } from "./digest.ts";
import { UserError } from "./errors.ts";
import { readStore, writeStore } from "./store.ts";

const looseText = v.optional(v.string());

const tokens = v.looseObject({
  access_token: v.string(),
  token_type: v.string(),
  refresh_token: looseText,
  expires_in: v.optional(v.number()),
  scope: looseText,
  issuer: looseText,
});

const client = v.looseObject({ client_id: v.string(), client_secret: looseText, issuer: looseText });

const login = v.object({
  /** The server's address: tokens are sent nowhere else. */
  url: v.string(),
  client: v.optional(client),
  tokens: v.optional(tokens),
  /** Milliseconds since 1970. */
  obtainedAt: v.optional(v.number()),
  /** Which authorisation server gave the tokens, and what it said of itself; for the silent refresh. */
  issuedBy: v.optional(v.object({ url: v.string(), metadata: v.optional(v.looseObject({})), resource: looseText })),
  /** Scopes that a call was refused for the lack of: the next login asks for them. */
  wantedScopes: v.optional(v.array(v.string())),
  /** What the last refusal said. */
  challenge: v.optional(v.object({ scope: looseText, resourceMetadataUrl: looseText })),
});

export type McpLogin = v.InferOutput<typeof login>;

/** The file of one server. A changed address is another file: nobody gets tokens that were meant for someone else. */
export function loginFile(home: string, server: string, url: string): string {
  const digest = sha256(`${server}\n${url}`).slice(0, 16);
  return join(home, "mcp", `${server}-${digest}.json`);
}

/** Nothing stored, or nothing usable, is a login without tokens. Never throws. */
export function readLogin(path: string, url: string): McpLogin {
  const read = readStore(path);
  const parsed = read.state === "ok" ? v.safeParse(login, read.value) : null;
  return parsed?.success && parsed.output.url === url ? parsed.output : { url };
}

/** Mode 0600, atomic. Throws UserError where the file can't be written: a login that is lost should be known. */
export async function saveLogin(path: string, value: McpLogin): Promise<void> {
  const problem = await writeStore(path, `${JSON.stringify(value, null, 2)}\n`);
  if (problem) throw new UserError(`The login could not be saved: ${problem.reason}`);
}
