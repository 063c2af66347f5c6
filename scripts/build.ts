/** Builds the binary: `bun scripts/build.ts` for this platform into dist/shiro. release.ts uses the same flags for every platform. */
import { copyFileSync, mkdirSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { BunPlugin } from "bun";
import { UserError } from "../src/errors.ts";
import { slim } from "./build-slim.ts";

export const root = join(import.meta.dir, "..");

/**
 * Chosen by measurement, on two cores, as MB, ms for --version and ms of CPU for a whole -p: neither bytecode nor
 * splitting 106, 92, 171; splitting 106, 11, 125; bytecode 113, 18, 56; both 113, 8, 52. A bytecode depth of 2 saves half
 * a MB of these and costs 4 ms; of 1, two MB and 18 ms. The four autoload switches keep a hostile directory's
 * bunfig.toml, .env, tsconfig.json and package.json out of ours.
 */
const OPTIONS = {
  target: "bun",
  format: "esm",
  minify: true,
  bytecode: true,
  splitting: true,
  define: { "process.env.NODE_ENV": '"production"' },
} as const;

const NO_AUTOLOAD = {
  autoloadBunfig: false,
  autoloadDotenv: false,
  autoloadTsconfig: false,
  autoloadPackageJson: false,
} as const;

/** Compiles a program the way shiro is. `target` as Bun names it; this platform when left out. */
export async function compile(
  entry: string,
  outfile: string,
  target?: string,
  plugins: BunPlugin[] = [],
): Promise<void> {
  const compiled = { outfile, ...NO_AUTOLOAD, ...(target === undefined ? {} : { target: target as Target }) }; // a name from release.ts or Bun's own error
  const { success, logs } = await Bun.build({
    ...OPTIONS,
    entrypoints: [entry],
    plugins,
    compile: compiled,
    throw: false,
  });
  if (!success) throw new Error(`bun build failed:\n${logs.map(String).join("\n")}`);
}

export function build(outfile: string, target?: string): Promise<void> {
  return compile(join(root, "src/main.ts"), outfile, target, [slim]);
}

type Target = Bun.Build.CompileTarget;

/** Bun adds the ending on Windows by itself. */
const PROGRAM = process.platform === "win32" ? "shiro.exe" : "shiro";

/** Puts the build where install.sh would. Renamed into place, so a running shiro keeps its file. */
function installLocally(): string {
  const directory = installDirectory();
  mkdirSync(directory, { recursive: true });
  const [staged, target] = [join(directory, `.shiro.new.${process.pid}`), join(directory, PROGRAM)];
  copyFileSync(join(root, "dist", PROGRAM), staged);
  renameSync(staged, target);
  return target;
}

function installDirectory(): string {
  const root = process.getuid?.() === 0;
  return process.env["SHIRO_INSTALL_DIR"] || (root ? "/usr/local/bin" : join(homedir(), ".local/bin"));
}

function pathAdvice(directory: string): string {
  const onPath = (process.env["PATH"] ?? "").split(delimiter).includes(directory);
  return onPath ? "" : `\n${directory} is not on your PATH. Add it with:  export PATH="${directory}:$PATH"`;
}

/** Runs a script's main part; what a person can mend becomes one line and exit code 1, a bug keeps its stack. */
export async function reportUserError(script: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(`${script}: ${error.message}`);
    process.exitCode = 1;
  }
}

if (import.meta.main) {
  mkdirSync(join(root, "dist"), { recursive: true });
  await build(join(root, "dist/shiro"));
  console.log(`dist/${PROGRAM}`);
  if (process.argv.includes("--install")) {
    const installed = installLocally();
    console.log(`${installed}${pathAdvice(dirname(installed))}`);
  }
}
