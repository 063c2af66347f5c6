/** Everything in a project that counts only with the user's consent: its settings, and commands that run something. Lists it; records nothing. */
import { loadCustomCommands } from "./custom-commands.ts";
import { loadProjectConfig } from "./project-config.ts";
import { trustState, type TrustState } from "./trust.ts";

export interface TrustItem {
  /** `settings`, `command /deploy`. */
  what: string;
  realPath: string;
  content: string;
  state: TrustState;
}

/** Settings first, then commands by name. `notices`: what is there and can't be read. */
export function projectTrustItems(cwd: string, home: string): { items: TrustItem[]; notices: string[] } {
  const config = loadProjectConfig(cwd, home);
  const unreadable = config !== null && config.content === "";
  const settings = config === null || unreadable ? [] : [{ ...config, what: "settings" }];
  const commands = loadCustomCommands({ home, cwd })
    .list.filter((command) => command.source === "project" && command.runs)
    .map(({ name, realPath, content }) => {
      return { what: `command /${name}`, realPath, content, state: trustState(home, realPath, content) };
    });
  const items = [...settings, ...commands].map(({ what, realPath, content, state }) => ({
    what,
    realPath,
    content,
    state,
  }));
  return { items, notices: unreadable ? config.notices : [] };
}
