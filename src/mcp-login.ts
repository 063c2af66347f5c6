/** `shiro mcp login`: the authorisation code flow with PKCE, by a printed address and a pasted answer. Opens no browser and no port. */
import type { McpLoginIo } from "./mcp-oauth-login.ts";

export type { McpLoginIo } from "./mcp-oauth-login.ts";

/** Logs in to a remote server and keeps the tokens. Throws UserError with one line: no such server, refused, dismissed. */
export async function runMcpLogin(name: string, io: McpLoginIo): Promise<void> {
  const { login } = await import("./mcp-oauth-login.ts");
  await login(name, io);
}
