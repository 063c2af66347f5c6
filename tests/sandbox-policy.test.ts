/** From settings and places to what may be written and read: what is refused, and what is named as lost. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePolicy, rootProblem, writeRoots, type PolicyPlaces } from "../src/sandbox-policy.ts";
import { settingsOf, type SandboxConfig } from "../src/sandbox-settings.ts";
import { closePlaces, places } from "./support/sandbox-places.ts";

afterAll(closePlaces);

function symlinkTo(target: string, path: string): string {
  symlinkSync(target, path);
  return target;
}

describe("policies", () => {
  const settings = settingsOf(undefined);
  const why = (where: PolicyPlaces, config: SandboxConfig = "on") => {
    const made = makePolicy(settingsOf(config), where, "off");
    return made.ok ? null : made.why;
  };

  test("a home directory, what it is in, and the root are no workspaces", () => {
    const at = places();
    expect(why({ ...at, workspace: at.home })).toEndWith("it is the home directory. Start in a project's directory");
    expect(why({ ...at, workspace: join(at.home, "..") })).toContain("the home directory is in it");
    expect(why({ ...at, workspace: "/" })).toContain("the root of the file system");
    expect(why({ ...at, workspace: at.stateHome })).toContain("where shiro keeps its settings");
    expect(why(at)).toBeNull();
  });

  test("a home given through a link is still that home", () => {
    const at = places();
    const alias = join(at.home, "../alias");
    symlinkSync(at.home, alias);
    expect(why({ ...at, homes: [alias], workspace: at.home })).toContain("it is the home directory");
    expect(why(at, { write: [alias] })).toContain("it is the home directory");
  });

  test("the account's home counts beside HOME", () => {
    const at = places();
    const account = places().home;
    expect(why({ ...at, homes: [at.home, account], workspace: account })).toContain("it is the home directory");
  });

  test("directories to write are held to the same", () => {
    const at = places("projects");
    expect(why(at, { write: ["~"] })).toBe("~ can't be made writable: it is the home directory");
    expect(why(at, { write: ["/"] })).toBe("/ can't be made writable: it is the root of the file system");
    expect(why(at, { write: ["/proc/sys"] })).toContain("it belongs to the kernel");
    expect(why(at, { write: [at.stateHome] })).toContain("where shiro keeps its settings");
    expect(writeRoots(settingsOf({ write: ["~/projects"] }), at)).toEqual({
      ok: true,
      roots: [at.workspace, join(at.home, "projects")],
      lost: [],
    });
  });

  test("a link in the workspace doesn't make writable what it leads to", () => {
    const at = places("documents");
    symlinkSync(join(at.home, "documents"), join(at.workspace, "build"));
    const lost = `build can't be written by commands: it is a link in ${at.workspace} that leads to ${join(at.home, "documents")}`;
    expect(writeRoots(settingsOf({ write: ["build"] }), at)).toEqual({ ok: true, roots: [at.workspace], lost: [lost] });
  });

  test("nor does one in another writable directory, and it takes no sandbox away", () => {
    const at = places("a");
    symlinkSync(at.home, join(at.home, "a/b"));
    const found = writeRoots(settingsOf({ write: ["~/a", "~/a/b"] }), at);
    expect(found).toMatchObject({
      ok: true,
      roots: [at.workspace, join(at.home, "a")],
      lost: [expect.stringContaining("it is a link in")],
    });
  });

  test("nor one that is reached by way of a link around it", () => {
    const at = places("data", "documents");
    symlinkSync("data", join(at.home, "link"));
    symlinkSync("../documents", join(at.home, "data/b"));
    const home = symlinkTo(at.home, join(at.home, "data/c"));
    const found = writeRoots(settingsOf({ write: ["~/link", "~/link/b", "~/link/c"] }), at);
    const lost = (name: string, to: string) =>
      `~/link/${name} can't be written by commands: it is a link in ${join(at.home, "data")} that leads to ${to}`;
    expect(found).toEqual({
      ok: true,
      roots: [at.workspace, join(at.home, "data")],
      lost: [lost("b", join(at.home, "documents")), lost("c", home)],
    });
  });

  test("what may be read is not followed where commands could have put a link", () => {
    const at = places(".ssh", "skills/mine");
    const swapped = join(at.workspace, "skill");
    symlinkSync(join(at.home, ".ssh"), swapped);
    const readable = () => [swapped, join(at.home, "skills/mine"), join(at.workspace, "docs")];
    const made = makePolicy(settings, { ...at, readable }, "off");
    expect(made).toMatchObject({ ok: true, policy: { read: [join(at.home, "skills/mine")] } });
  });

  test("a secret that is reached through the workspace stays denied and is named", () => {
    const at = places("vault");
    symlinkSync(join(at.home, "vault"), join(at.workspace, "aws"));
    symlinkSync(join(at.workspace, "aws"), join(at.home, ".aws"));
    const lost = [expect.stringContaining(`.aws leads through ${at.workspace}`)];
    expect(makePolicy(settings, at, "off")).toMatchObject({
      ok: true,
      policy: { deny: [join(at.home, "vault"), at.stateHome], lost },
    });
  });

  test("a directory in another one adds nothing, and one that isn't there is named", () => {
    const at = places();
    mkdirSync(join(at.workspace, "out"));
    expect(writeRoots(settingsOf({ write: ["out", "~/gone"] }), at)).toEqual({
      ok: true,
      roots: [at.workspace],
      lost: ["~/gone isn't there and was left out of what may be written"],
    });
  });

  test("a home given with --add-dir is left out and named", () => {
    const at = places();
    const found = writeRoots(settings, { ...at, extraDirs: [at.home] });
    expect(found).toMatchObject({
      ok: true,
      roots: [at.workspace],
      lost: [expect.stringContaining("can't be written by commands")],
    });
  });

  test("secrets are denied where they really are", () => {
    const at = places(".aws", "vault/ssh");
    symlinkSync(join(at.home, "vault/ssh"), join(at.home, ".ssh"));
    const made = makePolicy(settings, at, "off");
    expect(made).toMatchObject({
      ok: true,
      policy: { deny: [join(at.home, "vault/ssh"), join(at.home, ".aws"), at.stateHome], lost: [] },
    });
  });

  test("npm's login is closed while there is no network", () => {
    const at = places();
    writeFileSync(join(at.home, ".npmrc"), "");
    const denied = (network: "off" | "on") => {
      const made = makePolicy(settings, at, network);
      return made.ok && made.policy.deny.includes(join(at.home, ".npmrc"));
    };
    expect([denied("off"), denied("on")]).toEqual([true, false]);
  });

  test("a usual secret inside of the workspace is named as lost", () => {
    const at = places(".config/gh");
    const made = makePolicy(settings, { ...at, workspace: join(at.home, ".config") }, "off");
    expect(made).toMatchObject({ ok: true, policy: { lost: [expect.stringContaining(".config/gh can be read")] } });
  });

  test("a link from ~/.ssh into the workspace is named as lost", () => {
    const at = places();
    mkdirSync(join(at.workspace, "keys"));
    symlinkSync(join(at.workspace, "keys"), join(at.home, ".ssh"));
    const made = makePolicy(settings, at, "off");
    expect(made).toMatchObject({ ok: true, policy: { lost: [expect.stringContaining(".ssh can be read: it is in")] } });
  });

  test("one's own denied path inside of the workspace is refused, a project's is named", () => {
    const at = places();
    mkdirSync(join(at.workspace, "data"));
    expect(why(at, { denyRead: ["data"] })).toContain("can't be kept from them");
    expect(why(at, { denyRead: ["not-there-yet"] })).toContain("can't be kept from them");
    const project = makePolicy({ ...settings, projectDenyRead: ["data"] }, at, "off");
    expect(project).toMatchObject({ ok: true, policy: { lost: [expect.stringContaining("data can be read")] } });
  });

  test("a default can be lifted", () => {
    const at = places(".aws", ".ssh");
    const made = makePolicy(settingsOf({ denyRead: ["!~/.aws"] }), at, "off");
    expect(made.ok && made.policy.deny).toEqual([join(at.home, ".ssh"), at.stateHome]);
  });

  test("only devices count as devices", () => {
    const made = makePolicy(
      settingsOf({ devices: ["/dev/nul*", "/etc/passwd", "/dev/nothing-here", "/dev"] }),
      places(),
      "off",
    );
    expect(made.ok && made.policy.devices).toEqual(["/dev/null"]);
  });

  test("a directory to be offered is judged alike", () => {
    const at = places();
    expect([rootProblem(at.home, at), rootProblem(at.workspace, at)]).toEqual(["it is the home directory", null]);
  });
});
