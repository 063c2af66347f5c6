/** Rules on web addresses compare parsed hosts, label by label: `https://docs.example.org*` must not cover `docs.example.org.evil.test`. Pure. */
import type { Decision } from "./types.ts";
import { matchesWildcard } from "./wildcard.ts";

const RULE = /^(https?):\/\/([^/?#]+)([\s\S]*)$/i;

/**
 * Whether a rule on an address covers `subject`; null when either of them isn't an address, so that text rules apply.
 * An `allow` needs the same host; `ask` and `deny` also count where only the text matches.
 */
export function matchesUrlRule(rule: { pattern: string; decision: Decision }, subject: string): boolean | null {
  const parts = RULE.exec(rule.pattern);
  if (!URL.canParse(subject)) return null;
  const url = new URL(subject);
  // An address may be spelt in many ways; what is fetched is the plain one. Only to tighten.
  if (!parts && rule.decision !== "allow" && /^https?:$/.test(url.protocol))
    return matchesWildcard(rule.pattern, subject) || matchesWildcard(rule.pattern, plainAddress(url));
  if (!parts) return null;
  const byHost =
    url.protocol === `${parts[1]?.toLowerCase()}:` && coversHost(parts[2] ?? "", url) && coversRest(parts, url);
  if (rule.decision === "allow") return byHost && url.username === "" && url.password === "";
  return byHost || matchesWildcard(rule.pattern, subject) || matchesWildcard(rule.pattern, plainAddress(url));
}

function plainAddress(url: URL): string {
  return `${url.protocol}//${hostOf(url)}${url.pathname}${url.search}${url.hash}`;
}

function hostOf(url: URL): string {
  return url.host.replace(/\.(?=:|$)/, "");
}

function coversHost(pattern: string, url: URL): boolean {
  const host = hostOf(url);
  // A star right after the name stands for the path; a port must be written out.
  const name = pattern.toLowerCase().replace(/\*+$/, (stars) => (pattern === stars ? stars : ""));
  return matchesWildcard(name, host);
}

function coversRest(parts: RegExpExecArray, url: URL): boolean {
  const rest = parts[3] ?? "";
  const path = `${url.pathname}${url.search}${url.hash}`;
  if (rest === "") return parts[2]?.endsWith("*") === true || path === "/";
  return matchesWildcard(rest, path);
}
