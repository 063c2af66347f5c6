/** Blanks a variable of its own environment and prints, as JSON, what the kernel and the process then see of it. */
import { readFileSync } from "node:fs";
import { hideOwnVariables } from "../../src/own-environ.ts";

const held = process.env["SHIRO_PROBE_KEY"];
const before = readFileSync("/proc/self/environ", "utf8");
const blanked = hideOwnVariables(["SHIRO_PROBE_KEY", "SHIRO_NOT_SET"], { ...process.env });
const after = readFileSync("/proc/self/environ", "utf8");
console.log(
  JSON.stringify({ blanked, before: before.includes(String(held)), after: after.includes(String(held)), held }),
);
