/** Error classes. Code tells errors apart by class and field, never by text; anything that is none of these is a bug and keeps its stack. */

/** Exit codes of the program, in one place. */
export const EXIT = {
  done: 0,
  internal: 1,
  usage: 2,
  credentials: 3,
  provider: 4,
  denied: 5,
  ceiling: 6,
  timeout: 7,
  schema: 8,
  sighup: 129,
  sigint: 130,
  sigterm: 143,
} as const;

/** A person can fix it: one line that says what, which and what to do. */
export class UserError extends Error {
  override name = "UserError";
  readonly kind: "usage" | "config" | "auth";
  constructor(message: string, options: { kind?: "usage" | "config" | "auth"; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = options.kind ?? "usage";
  }
}

export const PROVIDER_ERROR_KINDS = [
  "auth",
  "quota",
  "rate",
  "server",
  "network",
  "timeout",
  "context",
  "request",
  "shape",
  "content",
] as const;
export type ProviderErrorKind = (typeof PROVIDER_ERROR_KINDS)[number];

export interface ProviderErrorDetails {
  kind: ProviderErrorKind;
  status?: number;
  requestId?: string;
  /** What to try, for a person. */
  hint?: string;
  /** Milliseconds the provider asked us to wait. */
  retryAfterMs?: number;
  /** The parameter a 400 complained about, as the provider named it. */
  parameter?: string;
  /** The provider's own machine-readable code or type. */
  code?: string;
  cause?: unknown;
}

/** A model call that failed, classified. `message` is the provider's, in one line. */
export class ProviderError extends Error {
  override name = "ProviderError";
  readonly kind: ProviderErrorKind;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly parameter: string | undefined;
  readonly code: string | undefined;
  constructor(message: string, details: ProviderErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = details.kind;
    this.status = details.status;
    this.requestId = details.requestId;
    this.hint = details.hint;
    this.retryAfterMs = details.retryAfterMs;
    this.parameter = details.parameter;
    this.code = details.code;
  }

  get retryable(): boolean {
    return this.kind === "rate" || this.kind === "server" || this.kind === "network" || this.kind === "timeout";
  }
}

export type ToolErrorCategory = "validation error" | "permission error" | "transient error" | "tool error";

/** A tool that could not do its work. The text is for the model: one or two sentences on what to do next. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly category: ToolErrorCategory;
  /** What the screen says instead, in a few words; null: the text itself. */
  readonly note: string | null;
  constructor(message: string, options: { category?: ToolErrorCategory; note?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.category = options.category ?? "tool error";
    this.note = options.note ?? null;
  }
}

/** A path outside the workspace. */
export class JailError extends ToolError {
  override name = "JailError";
  constructor(message: string) {
    super(message, { category: "permission error" });
  }
}

/** The work was dispatched and no answer came: its effects are unknown, and an identical repeat must not run unseen. */
export class UnknownOutcomeError extends ToolError {
  override name = "UnknownOutcomeError";
}

/** True for the rejection of an aborted signal, in every form the runtime gives it. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "APIUserAbortError");
}

/** `errno` code of a system error (`ENOSPC`, `ENOENT` …), else undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** One line of an error for a person; never empty. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replace(/\s*\n\s*/g, " ").trim() || "unknown error";
}

/** Reason given to the signal that ends a turn: says how the run ends. Counts as an abort everywhere. */
export class TurnAbort extends Error {
  override name = "AbortError";
  readonly why: "interrupted" | "timeout";
  readonly exit: number;
  constructor(why: "interrupted" | "timeout" = "interrupted", exit: number = EXIT.sigint) {
    super(why === "timeout" ? "the time limit was reached" : "interrupted");
    this.why = why;
    this.exit = exit;
  }
}
