/** The protect plugin: refuses writes to what another tool owns and would overwrite. The names are in protect.ts. */
import type { Plugin, PluginVerdict } from "./plugin.ts";
import { ownerOf } from "./protect.ts";

export function makeProtect(isIgnored: (absolute: string) => boolean): Plugin {
  return {
    name: "protect",
    description: "refuses writes to .git, lock files, dependency and ignored build directories",
    beforeToolCall: (call) => {
      for (const path of call.writes) {
        const owner = ownerOf(path, isIgnored);
        if (owner) return refusal(path.written, owner.what, owner.by);
      }
      return null;
    },
  };
}

function refusal(written: string, what: string, by: string): PluginVerdict {
  const reason = `protect: ${written} is not for editing by hand: ${what} is written by ${by}. Change its source, or run that instead.`;
  return { decision: "deny", by: "plugin", reason };
}
