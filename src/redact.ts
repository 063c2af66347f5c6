/** Keeps API keys out of results and children: masks known values, drops key variables, recognises credentials by their shape. Decides nothing. */

/** What a masked key reads as. */
export const REDACTED = "[redacted key]";

// A shorter value (`test`, `none`) turns up in ordinary text all the time.
const MIN_KEY_LENGTH = 8;

export interface Redactor {
  redact(text: string): string;
  /** Registers a key learned later (a `cmd:` key, one typed in the dialogue). */
  add(key: string): void;
  /** The same for text that comes in pieces, where a key may be cut in two. */
  stream(): RedactStream;
}

export interface RedactStream {
  /** What of the text so far can be shown: all but an end that may be the beginning of a key. */
  push(piece: string): string;
  /** The rest. */
  end(): string;
}

/** Masks every occurrence of the given keys. Keys under 8 characters are left alone. */
export function makeRedactor(keys: Iterable<string>): Redactor {
  let known: string[] = [];
  const add = (key: string) => {
    if (key.length < MIN_KEY_LENGTH || known.includes(key)) return;
    // Longest first: a key that contains another must not leave its tail behind.
    known = [...known, key].sort((a, b) => b.length - a.length);
  };
  for (const key of keys) add(key);
  const redact = (text: string): string => known.reduce((rest, key) => rest.split(key).join(REDACTED), text);
  return { add, redact, stream: () => openStream(redact, () => known) };
}

function openStream(redact: (text: string) => string, keys: () => readonly string[]): RedactStream {
  let held = "";
  return {
    push(piece) {
      const text = redact(held + piece);
      held = startOfKey(text, keys());
      return text.slice(0, text.length - held.length);
    },
    end() {
      const rest = redact(held);
      held = "";
      return rest;
    },
  };
}

/** The longest end of `text` with which one of the keys begins. */
function startOfKey(text: string, keys: readonly string[]): string {
  const longest = Math.max(0, ...keys.map((key) => key.length - 1));
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    const end = text.slice(-length);
    if (keys.some((key) => key.startsWith(end))) return end;
  }
  return "";
}

/** Variables that hold a key whatever the configuration says. */
export const KEY_VARIABLES: readonly string[] = ["SHIRO_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"];

/** Names to drop from a child's environment: the fixed ones and the configured providers', less those the user hands through. */
export function hiddenVariables(configured: readonly string[], passEnv: readonly string[]): string[] {
  return [...new Set([...KEY_VARIABLES, ...configured])].filter((name) => !passEnv.includes(name));
}

/** `env` without the named variables and without undefined values. */
export function withoutVariables(
  env: Record<string, string | undefined>,
  hidden: readonly string[],
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !hidden.includes(name)) kept[name] = value;
  return kept;
}

interface CredentialShape {
  what: string;
  pattern: RegExp;
  /** Bits per character that the part after the prefix must have; placeholders (`ghp_xxxx…`) have fewer. */
  minEntropy: number;
}

export const CREDENTIAL_SHAPES: readonly CredentialShape[] = [
  {
    what: "a private key",
    pattern: /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/=]{16}/,
    minEntropy: 0,
  },
  { what: "an AWS access key", pattern: /\b(?:AKIA|ASIA)([A-Z2-7]{16})\b/, minEntropy: 3 },
  { what: "a GitHub token", pattern: /\bgh[pousr]_([A-Za-z0-9]{36,255})\b/, minEntropy: 3.5 },
  { what: "a GitHub token", pattern: /\bgithub_pat_([A-Za-z0-9_]{40,255})\b/, minEntropy: 3.5 },
  { what: "a GitLab token", pattern: /\bglpat-([A-Za-z0-9_-]{20,64})\b/, minEntropy: 3.3 },
  { what: "an Anthropic key", pattern: /\bsk-ant-([A-Za-z0-9_-]{24,200})/, minEntropy: 3.5 },
  { what: "an OpenAI key", pattern: /\bsk-(?:proj-|svcacct-)?([A-Za-z0-9_-]{32,200})/, minEntropy: 3.8 },
  { what: "an OpenRouter key", pattern: /\bsk-or-v1-([a-f0-9]{64})\b/, minEntropy: 3 },
  { what: "a Slack token", pattern: /\bxox[abeprs]-([A-Za-z0-9-]{20,200})/, minEntropy: 3 },
  { what: "a Stripe live key", pattern: /\b[sr]k_live_([A-Za-z0-9]{20,200})\b/, minEntropy: 3.3 },
  { what: "a Google API key", pattern: /\bAIza([A-Za-z0-9_-]{35})/, minEntropy: 3.5 },
  { what: "an npm token", pattern: /\bnpm_([A-Za-z0-9]{36})\b/, minEntropy: 3.5 },
  { what: "a Groq key", pattern: /\bgsk_([A-Za-z0-9]{40,80})\b/, minEntropy: 3.5 },
  { what: "an xAI key", pattern: /\bxai-([A-Za-z0-9]{40,120})\b/, minEntropy: 3.5 },
  { what: "a Hugging Face token", pattern: /\bhf_([A-Za-z0-9]{30,60})\b/, minEntropy: 3.5 },
  { what: "a PyPI token", pattern: /\bpypi-([A-Za-z0-9_-]{50,250})/, minEntropy: 3.5 },
  { what: "a SendGrid key", pattern: /\bSG\.([A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,60})/, minEntropy: 3.5 },
];

/** What kind of live credential the text holds (`a GitHub token`), or null. Placeholders of one repeated letter don't count. */
export function findCredential(text: string, shapes: readonly CredentialShape[] = CREDENTIAL_SHAPES): string | null {
  const found = shapes.find((shape) => matchesShape(text, shape));
  return found ? found.what : null;
}

function matchesShape(text: string, shape: CredentialShape): boolean {
  const everywhere = new RegExp(shape.pattern, "g");
  for (const match of text.matchAll(everywhere)) if (entropyOf(match[1] ?? match[0]) >= shape.minEntropy) return true;
  return false;
}

/** Shannon entropy in bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
