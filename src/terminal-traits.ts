/** What a terminal can take, decided once from environment and streams. Writes nothing and asks the terminal nothing. */

export interface TerminalTraits {
  /** Lines in, words out: no escape sequences, no colour, no indicator, ASCII marks. */
  plain: boolean;
  colour: boolean;
  /** Decoration must be ASCII. What users and models wrote stays as it is. */
  ascii: boolean;
  /** No indicator, larger batches. */
  lowBandwidth: boolean;
  /** How long an ESC waits for the rest of a sequence. */
  escTimeoutMs: number;
  /** How long output is gathered before it is written. */
  batchMs: number;
  /** Wrapped rows are wrapped anew when the window changes its width. */
  reflows: boolean;
}

export interface TraitOptions {
  stdinIsTty: boolean;
  stdoutIsTty: boolean;
  /** `process.platform`. */
  platform: string;
  plain?: boolean;
  lowBandwidth?: boolean;
  /** `theme` of the config: `none` means no colour. */
  theme?: "auto" | "none";
  escTimeoutMs?: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/** `env` needs `TERM`, the locale, `NO_COLOR`, `ACCESSIBLE` and what SSH sets. */
export function terminalTraits(env: Env, options: TraitOptions): TerminalTraits {
  const plain = isPlain(env, options);
  const remote = isSet(env.SSH_CONNECTION) || isSet(env.SSH_TTY) || isSet(env.SSH_CLIENT);
  const lowBandwidth = (options.lowBandwidth ?? false) || remote;
  return {
    plain,
    colour: !plain && wantsColour(env, options),
    // The fonts of the Linux console have letters, and hardly any of the marks.
    ascii: plain || env.TERM === "linux" || !isUtf8(env, options.platform),
    lowBandwidth,
    escTimeoutMs: options.escTimeoutMs ?? (remote ? 200 : 50),
    batchMs: lowBandwidth ? 100 : 30,
    reflows: REFLOWING.some((name) => isSet(env[name])),
  };
}

function isPlain(env: Env, options: TraitOptions): boolean {
  if (options.plain) return true;
  if (!options.stdinIsTty || !options.stdoutIsTty) return true;
  if (isSet(env.ACCESSIBLE) && env.ACCESSIBLE !== "0") return true;
  // Windows consoles set no TERM and take escapes.
  return env.TERM === "dumb" || (!isSet(env.TERM) && options.platform !== "win32");
}

// https://no-color.org: present and not empty. FORCE_COLOR wins over the terminal, not over the user's NO_COLOR.
function wantsColour(env: Env, options: TraitOptions): boolean {
  if (options.theme === "none" || isSet(env.NO_COLOR)) return false;
  if (isSet(env.FORCE_COLOR)) return env.FORCE_COLOR !== "0";
  return !(env.TERM ?? "").endsWith("-m") && !/^vt\d/.test(env.TERM ?? "");
}

// POSIX: the first of these that is set and not empty decides; none means the C locale.
function isUtf8(env: Env, platform: string): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find(isSet);
  if (locale === undefined) return platform === "darwin" || platform === "win32";
  return /utf-?8/i.test(locale);
}

// Terminals that say who they are and are known to wrap anew. The others (xterm, the Linux console, screen)
// keep rows as they were, and erasing as if they had moved would take output with it.
const REFLOWING = [
  "TMUX",
  "VTE_VERSION",
  "KITTY_WINDOW_ID",
  "WEZTERM_PANE",
  "ALACRITTY_WINDOW_ID",
  "ITERM_SESSION_ID",
  "KONSOLE_VERSION",
  "WT_SESSION",
];

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}
