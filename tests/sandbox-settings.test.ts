/** The `sandbox` setting, what a project may tighten, and the environment commands get. */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { sandboxEnv } from "../src/sandbox-env.ts";
import { sandboxSchema, settingsOf, tighten, type SandboxConfig } from "../src/sandbox-settings.ts";

describe("settings", () => {
  const problem = (value: unknown): string | null => {
    const checked = v.safeParse(sandboxSchema, value);
    return checked.success
      ? null
      : [...(checked.issues[0].path ?? []).map((item) => String(item.key)), checked.issues[0].message].join(": ");
  };
  test.each<[unknown, RegExp | null]>([
    ["off", null],
    ["auto-allow-sandboxed", null],
    [{ mode: "on", network: "ask", caches: ["npm"], env: { keep: ["X_TOKEN"] } }, null],
    ["yes", /"off"/],
    [true, /Object/i],
    [{ netwrok: "on" }, /netwrok/],
    [{ network: "maybe" }, /network: .*"ask"/],
    [{ caches: ["nmp"] }, /caches: 0: .*"npm"/],
    [{ env: { scrub: "X" } }, /env: scrub/],
  ])("%j", (value, complaint) => {
    if (complaint === null) expect(problem(value)).toBeNull();
    else expect(problem(value)).toMatch(complaint);
  });

  const tightened = (user: SandboxConfig | undefined, project: SandboxConfig) => {
    const refused: string[] = [];
    const { mode, network, unixSockets, tmp, write, projectDenyRead, scrub, sharedMemory } = tighten(
      settingsOf(user),
      project,
      (field) => refused.push(field),
    );
    return { mode, network, unixSockets, tmp, write, projectDenyRead, scrub: scrub.length, sharedMemory, refused };
  };
  const usual = {
    mode: null,
    network: "ask",
    unixSockets: "off",
    tmp: "private",
    write: [],
    projectDenyRead: [],
    scrub: 4,
    sharedMemory: true,
    refused: [],
  };

  test.each<[string, SandboxConfig | undefined, SandboxConfig, object]>([
    ["turns it on", "off", "on", { mode: "on" }],
    ["can't turn it off", "on", "off", { mode: "on", refused: ["mode"] }],
    ["can't turn it off where nothing is set", undefined, "off", { refused: ["mode"] }],
    ["can't have commands allowed", "on", "auto-allow-sandboxed", { mode: "on", refused: ["mode"] }],
    ["nor where it is off", "off", "auto-allow-sandboxed", { mode: "off", refused: ["mode"] }],
    [
      "can't take it away from them",
      "auto-allow-sandboxed",
      "off",
      { mode: "auto-allow-sandboxed", refused: ["mode"] },
    ],
    ["has them asked about again", "auto-allow-sandboxed", "on", { mode: "on" }],
    ["closes the network", undefined, { network: "off" }, { network: "off" }],
    [
      "can't open the network",
      undefined,
      { network: "on", unixSockets: "on" },
      { refused: ["network", "unixSockets"] },
    ],
    ["denies more", undefined, { denyRead: ["data", "!~/.ssh"] }, { projectDenyRead: ["data"], refused: ["denyRead"] }],
    ["scrubs more", undefined, { env: { scrub: ["X_*"], keep: ["X_TOKEN"] } }, { scrub: 5, refused: ["env.keep"] }],
    [
      "can't write more",
      undefined,
      { write: ["/"], caches: ["npm"], excluded: ["curl *"], require: "any", devices: ["/dev/kvm"] },
      { refused: ["require", "write", "caches", "devices", "excluded"] },
    ],
    ["closes shared memory", { sharedMemory: true }, { sharedMemory: false }, { sharedMemory: false }],
    [
      "can't open shared memory",
      { sharedMemory: false },
      { sharedMemory: true },
      { sharedMemory: false, refused: ["sharedMemory"] },
    ],
  ])("a project %s", (_, user, project, expected) => {
    expect(tightened(user, project)).toEqual<unknown>({ ...usual, ...expected });
  });
});

describe("the environment", () => {
  const env = {
    PATH: "/bin",
    GITHUB_TOKEN: "x",
    db_password: "x",
    MY_API_KEY: "x",
    TOKENS: "3",
    BUN_OPTIONS: "x",
    WSL_INTEROP: "/run/x",
    PASSED_TOKEN: "x",
    KEPT_SECRET: "x",
  };
  const facts = { rung: "full", network: "off", tmp: "/tmp/p", passed: ["PASSED_TOKEN"] } as const;
  test("loses what looks like a key, and says where it is", () => {
    const settings = { ...settingsOf({ env: { keep: ["KEPT_*"] } }) };
    expect(sandboxEnv(env, settings, facts)).toEqual({
      PATH: "/bin",
      TOKENS: "3",
      PASSED_TOKEN: "x",
      KEPT_SECRET: "x",
      GOCACHE: "/tmp/p/go-build",
      TMPDIR: "/tmp/p",
      TMP: "/tmp/p",
      TEMP: "/tmp/p",
      npm_config_offline: "true",
      npm_config_fetch_retries: "0",
      PIP_RETRIES: "0",
      CARGO_NET_OFFLINE: "true",
      SHIRO_SANDBOX: "full",
      SHIRO_SANDBOX_NETWORK: "off",
    });
  });
  test("knows nothing of offline where the network is on", () => {
    expect(Object.keys(sandboxEnv({}, settingsOf(undefined), { ...facts, network: "on", tmp: null }))).toEqual([
      "SHIRO_SANDBOX",
      "SHIRO_SANDBOX_NETWORK",
    ]);
  });
});
