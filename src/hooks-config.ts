/** The `hooks` field of config.json: which commands run on which events. Shapes and reading only; runs nothing. */
import * as v from "valibot";
import { nearestName } from "./nearest.ts";

export const HOOK_EVENTS = ["session-start", "prompt", "pre-tool", "post-tool", "turn-end"] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

const hook = v.strictObject({
  /** Of the tool's name; `*` covers a family. Left out: every tool. */
  matcher: v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty"))),
  /** A line for the shell. */
  command: v.pipe(v.string(), v.regex(/\S/, "must not be empty")),
});

const hookList = v.union([
  v.pipe(
    hook,
    v.transform((one) => [one]),
  ),
  v.array(hook),
]);

/** Events with one hook or a list of them. */
export const hooksSchema = v.strictObject({
  "session-start": v.optional(hookList),
  prompt: v.optional(hookList),
  "pre-tool": v.optional(hookList),
  "post-tool": v.optional(hookList),
  "turn-end": v.optional(hookList),
} satisfies Record<HookEvent, unknown>);

export type Hook = v.InferOutput<typeof hook>;
export type HooksConfig = v.InferOutput<typeof hooksSchema>;

/**
 * Reads `hooks` entry by entry: what doesn't fit is reported with its path and left out, the rest counts. One mistyped
 * event must not take away the hooks that refuse calls. Never throws.
 */
export function readHooks(value: unknown, place: string, reports: string[]): HooksConfig {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    reports.push(`${place}: "hooks" must be an object of events; ignored`);
    return {};
  }
  const read: HooksConfig = {};
  for (const [event, entries] of Object.entries(value)) {
    if (isHookEvent(event)) read[event] = hooksOf(entries, `hooks.${event}`, place, reports);
    else reports.push(`${place}: ${unknownEvent(event)}`);
  }
  return read;
}

function hooksOf(entries: unknown, path: string, place: string, reports: string[]): Hook[] {
  const list: unknown[] = Array.isArray(entries) ? entries : [entries];
  return list.flatMap((entry, index) => {
    const checked = v.safeParse(hook, entry);
    if (checked.success) return [checked.output];
    const [issue] = checked.issues;
    const at = [Array.isArray(entries) ? `${path}.${index}` : path, v.getDotPath(issue)].filter(Boolean).join(".");
    reports.push(`${place}: bad value for "${at}" ignored: ${issue.message}`);
    return [];
  });
}

function isHookEvent(event: string): event is HookEvent {
  return HOOK_EVENTS.some((known) => known === event);
}

function unknownEvent(event: string): string {
  const near = nearestName(event, HOOK_EVENTS);
  const hint = near ? ` (did you mean "${near}"?)` : `; events: ${HOOK_EVENTS.join(", ")}`;
  return `unknown event "hooks.${event}" ignored${hint}`;
}
