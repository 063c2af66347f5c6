/** The `sandbox` setting: its shape, its defaults, and what a project's own file may add to the user's. Looks at no disk. */
import * as v from "valibot";

export const SANDBOX_MODES = ["off", "on", "auto-allow-sandboxed"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

const strings = v.array(v.pipe(v.string(), v.nonEmpty("must not be empty")));

/** The object form. Every field is optional: what isn't given has its default. */
const sandboxObject = v.strictObject({
  mode: v.optional(v.picklist(SANDBOX_MODES)),
  require: v.optional(v.picklist(["full", "fs", "any"])),
  network: v.optional(v.picklist(["off", "on", "ask"])),
  unixSockets: v.optional(v.picklist(["off", "on"])),
  write: v.optional(strings),
  tmp: v.optional(v.picklist(["private", "shared"])),
  sharedMemory: v.optional(v.boolean()),
  caches: v.optional(
    v.array(v.picklist(["npm", "pnpm", "yarn", "bun", "cargo", "pip", "uv", "go", "gradle", "maven"])),
  ),
  denyRead: v.optional(strings),
  devices: v.optional(strings),
  env: v.optional(v.strictObject({ scrub: v.optional(strings), keep: v.optional(strings) })),
  excluded: v.optional(strings),
  experimental: v.optional(v.boolean()),
});

/** `"off"`, `"on"`, `"auto-allow-sandboxed"`, or an object. Told apart first, so that a complaint names the field. */
export const sandboxSchema = v.lazy((input) => (typeof input === "string" ? v.picklist(SANDBOX_MODES) : sandboxObject));

type Written = v.InferOutput<typeof sandboxObject>;
export type SandboxConfig = SandboxMode | Written;
export type Cache = NonNullable<Written["caches"]>[number];

/** Everything decided. */
export interface SandboxSettings {
  /** Null: on where the kernel can do what is required, else off. */
  mode: SandboxMode | null;
  require: "full" | "fs" | "any";
  network: "off" | "on" | "ask";
  unixSockets: "off" | "on";
  write: string[];
  tmp: "private" | "shared";
  sharedMemory: boolean;
  caches: Cache[];
  /** Beside the defaults; `!path` takes a default away. */
  denyRead: string[];
  /** Of the project's file: where one can't be kept, the sandbox stays on and says so. */
  projectDenyRead: string[];
  devices: string[];
  scrub: string[];
  keep: string[];
  excluded: string[];
  experimental: boolean;
}

/** Names of variables that commands don't get: they hold keys more often than not. */
export const SCRUBBED = ["*_API_KEY", "*_TOKEN", "*_SECRET", "*PASSWORD*"] as const;

/** The user's setting with the defaults filled in. */
export function settingsOf(config: SandboxConfig | undefined): SandboxSettings {
  const written: Written = typeof config === "string" ? { mode: config } : (config ?? {});
  return {
    mode: written.mode ?? null,
    require: written.require ?? "fs",
    network: written.network ?? "ask",
    unixSockets: written.unixSockets ?? "off",
    write: written.write ?? [],
    tmp: written.tmp ?? "private",
    sharedMemory: written.sharedMemory ?? true,
    caches: written.caches ?? [],
    denyRead: written.denyRead ?? [],
    projectDenyRead: [],
    devices: written.devices ?? [],
    scrub: written.env?.scrub ?? [...SCRUBBED],
    keep: written.env?.keep ?? [],
    excluded: written.excluded ?? [],
    experimental: written.experimental ?? false,
  };
}

/** From loose to tight, for each setting a project may tighten. */
const ORDER = {
  // The other two loosen something: no sandbox at all, or commands that nobody is asked about.
  mode: ["on"],
  network: ["on", "ask", "off"],
  unixSockets: ["on", "off"],
  tmp: ["shared", "private"],
} as const;

/**
 * The user's settings, tightened by a project's. What would loosen them has no effect and is reported, as is `require`:
 * raising it would take commands out of a sandbox that can't do so much.
 */
export function tighten(
  user: SandboxSettings,
  project: SandboxConfig,
  report: (field: string) => void,
): SandboxSettings {
  const written: Written = typeof project === "string" ? { mode: project } : project;
  const pick = <T>(field: keyof typeof ORDER, own: T, theirs: T | undefined): T => {
    const order: readonly unknown[] = ORDER[field];
    if (theirs === undefined || theirs === own) return own;
    // No mode of the user's own means "on where possible", which only "on" is as tight as.
    if (own === null ? theirs === "on" : order.indexOf(theirs) > order.indexOf(own)) return theirs;
    report(field);
    return own;
  };
  for (const key of ["require", "write", "caches", "devices", "excluded", "experimental"] as const)
    if (written[key] !== undefined) report(key);
  if (written.env?.keep !== undefined) report("env.keep");
  if (written.sharedMemory === true && !user.sharedMemory) report("sharedMemory");
  if (written.denyRead?.some((path) => path.startsWith("!"))) report("denyRead");
  return {
    ...user,
    mode: pick("mode", user.mode, written.mode),
    network: pick("network", user.network, written.network),
    unixSockets: pick("unixSockets", user.unixSockets, written.unixSockets),
    tmp: pick("tmp", user.tmp, written.tmp),
    sharedMemory: user.sharedMemory && written.sharedMemory !== false,
    projectDenyRead: [...user.projectDenyRead, ...(written.denyRead ?? []).filter((path) => !path.startsWith("!"))],
    scrub: [...new Set([...user.scrub, ...(written.env?.scrub ?? [])])],
  };
}
