/** Skills, custom commands and agents of a home and a directory, read when first asked for and again when their files change. */
import { VARIANTS, type CustomAgents } from "./agents.ts";
import { loadCustomAgents } from "./custom-agents.ts";
import { commandsStamp, loadCustomCommands, type CustomCommands } from "./custom-commands.ts";
import { loadSkills, NO_SKILLS, skillsStamp, type Skills } from "./skills.ts";

export interface ExtensionPlaces {
  /** SHIRO_HOME. */
  home: string;
  cwd: string;
}

export interface Extensions {
  /** As last read. */
  skills(): Skills;
  /** Reads them again: where their files have changed, or in any case. True when names or descriptions are others now. */
  rereadSkills(how: "changed" | "always"): boolean;
  /** As on disk now. */
  commands(): CustomCommands;
  /** What of all this could not be read, one line each. */
  problems(): string[];
}

export function openExtensions(places: ExtensionPlaces, options: { skills: boolean }): Extensions {
  let skills: { stamp: string; value: Skills } | null = null;
  let commands: { stamp: string; value: CustomCommands } | null = null;
  const read = () => ({ stamp: skillsStamp(places), value: options.skills ? loadSkills(places) : NO_SKILLS });
  const current = (): Skills => (skills ??= read()).value;
  return {
    skills: current,
    rereadSkills(how) {
      const before = current();
      if (!options.skills || (how === "changed" && skills?.stamp === skillsStamp(places))) return false;
      skills = read();
      return catalogue(before) !== catalogue(skills.value);
    },
    commands() {
      const stamp = commandsStamp(places);
      if (commands?.stamp !== stamp) commands = { stamp, value: loadCustomCommands(places) };
      return commands.value;
    },
    problems() {
      const found = [...current().problems, ...this.commands().problems, ...readAgents(places, {}).problems];
      return found.map(({ path, reason }) => `${path}: ${reason}`);
    },
  };
}

function catalogue(skills: Skills): string {
  return JSON.stringify(skills.list.map(({ name, description }) => [name, description]));
}

/** The configuration's agents with those of files; builtin ones left aside. For `findAgent` and `agentVariants`. */
export function agentsOf(places: ExtensionPlaces, configured: CustomAgents | undefined): CustomAgents {
  return readAgents(places, configured ?? {}).agents;
}

function readAgents(places: ExtensionPlaces, configured: CustomAgents) {
  return loadCustomAgents(
    places,
    configured,
    VARIANTS.map((variant) => variant.name),
  );
}
