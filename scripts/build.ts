/** Builds the binary: `bun scripts/build.ts` for this platform into dist/shiro. release.ts uses the same flags for every platform. */
import { copyFileSync, mkdirSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const root = join(import.meta.dir, "..");

/**
 * Why these: bytecode in split chunks starts fastest of what was tried, since only what is used is mapped; the four
 * autoload switches keep a hostile directory's bunfig.toml, .env, tsconfig.json and package.json out of ours.
 */
export const BUILD_FLAGS = [
  "--compile",
  "--minify",
  "--bytecode",
  "--format=esm",
  "--splitting",
  "--no-compile-autoload-bunfig",
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-tsconfig",
  "--no-compile-autoload-package-json",
];

export async function build(outfile: string, target?: string): Promise<void> {
  const argv = [
    process.execPath,
    "build",
    ...BUILD_FLAGS,
    ...(target ? [`--target=${target}`] : []),
    "src/main.ts",
    "--outfile",
    outfile,
  ];
  const child = Bun.spawn(argv, {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, NODE_ENV: "production" },
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`bun build failed with ${code}:\n${out}${err}`);
}

/** Puts the build on PATH: SHIRO_INSTALL_DIR, else ~/.local/bin. Renamed into place, so a running shiro keeps its file. */
function installLocally(): string {
  const directory = process.env["SHIRO_INSTALL_DIR"] ?? join(homedir(), ".local/bin");
  mkdirSync(directory, { recursive: true });
  const [staged, target] = [join(directory, `.shiro.new.${process.pid}`), join(directory, "shiro")];
  copyFileSync(join(root, "dist/shiro"), staged);
  renameSync(staged, target);
  return target;
}

if (import.meta.main) {
  mkdirSync(join(root, "dist"), { recursive: true });
  await build(join(root, "dist/shiro"));
  console.log("dist/shiro");
  if (process.argv.includes("--install")) console.log(installLocally());
}
