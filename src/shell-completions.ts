/** Completion scripts for bash, zsh and fish, made of the same tables as the usage. Complete nothing themselves: the shells do. */
import { VARIANTS } from "./agents.ts";
import { FLAGS, type Flag } from "./args-flags.ts";
import { SUBCOMMANDS, type Subcommand } from "./args.ts";
import { UserError } from "./errors.ts";
import { TOPICS } from "./help.ts";
import { PROTOCOLS } from "./provider.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** Throws UserError for a shell it knows no script for. */
export function completionScript(shell: string | undefined): string {
  switch (SHELLS.find((one) => one === shell)) {
    case "bash":
      return bash();
    case "zsh":
      return zsh();
    case "fish":
      return fish();
    case undefined:
      throw new UserError(`shiro completions needs a shell: ${SHELLS.join(", ")}`);
  }
}

type Values = readonly string[] | "file" | "directory" | "session" | "any";

/** What may stand behind a flag; null for a switch. */
function valuesOf(flag: Flag): Values | null {
  if (flag.value === undefined) return null;
  if (flag.takes === "agent") return VARIANTS.map((variant) => variant.name);
  if (flag.takes === "protocol") return PROTOCOLS;
  return flag.takes ?? "any";
}

/** What may stand behind a subcommand; empty where that is anything or nothing. */
function verbsOf(command: Subcommand): readonly string[] {
  return command.name === "help" ? Object.keys(TOPICS) : (command.verbs ?? []);
}

/** The ids of `shiro sessions`, whose other lines begin with something else. */
const IDS = String.raw`sed -n 's/^\([0-9a-f-]\{36\}\) .*/\1/p'`;

const names = (flag: Flag): string[] => [`--${flag.name}`, ...(flag.short ? [`-${flag.short}`] : [])];

function bash(): string {
  const flags = new Map<string, string[]>();
  for (const flag of FLAGS) {
    const values = valuesOf(flag);
    if (values !== null) flags.set(bashValues(values), [...(flags.get(bashValues(values)) ?? []), ...names(flag)]);
  }
  const valued = [...flags].map(([action, of]) => `    ${of.join("|")}) ${action}; return ;;`);
  const verbs = SUBCOMMANDS.flatMap((command) =>
    verbsOf(command).length > 0 ? [`    ${command.name}) words='${verbsOf(command).join(" ")}' ;;`] : [],
  );
  // bash takes --flag=value apart into three words. An empty COMPREPLY leaves file names to readline.
  return `_shiro() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words= first= i
  COMPREPLY=()
  if [[ $cur == "=" ]]; then cur=
  elif [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $prev in
${valued.join("\n")}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W '${FLAGS.flatMap(names).join(" ")}' -- "$cur"))
    return
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} != -* ]]; then first=\${COMP_WORDS[i]}; break; fi
  done
  if [[ $first && $i != $((COMP_CWORD - 1)) ]]; then return; fi
  case $first in
    "") words='${SUBCOMMANDS.map((command) => command.name).join(" ")}' ;;
${verbs.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _shiro shiro
`;
}

function bashValues(values: Values): string {
  switch (values) {
    case "file":
      return "compopt -o filenames 2>/dev/null";
    case "directory":
      return `local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur"))`;
    case "session":
      return `COMPREPLY=($(compgen -W "$(shiro sessions 2>/dev/null | ${IDS})" -- "$cur"))`;
    case "any":
      return "compopt +o default 2>/dev/null";
    default:
      return `COMPREPLY=($(compgen -W '${values.join(" ")}' -- "$cur"))`;
  }
}

function zsh(): string {
  const commands = SUBCOMMANDS.map((command) => `      '${command.name}:${quoted(command.help)}'`);
  const verbs = SUBCOMMANDS.flatMap((command) =>
    verbsOf(command).length > 0 ? [`        ${command.name}) compadd -- ${verbsOf(command).join(" ")} ;;`] : [],
  );
  // Read by `source` it registers itself; from a directory of $fpath zsh calls it to complete at once.
  return `#compdef shiro
_shiro_sessions() {
  local -a lines ids
  lines=(\${(f)"$(shiro sessions 2>/dev/null | sed -n '/^[0-9a-f-]\\{36\\} /p')"})
  ids=(\${lines%% *})
  compadd -V sessions -l -d lines -a ids
}
_shiro() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -s -S \\
${FLAGS.flatMap(zshFlag).join(" \\\n")} \\
    '1:command:->command' \\
    '2:word:->word' \\
    '*:file:_files' && return
  case $state in
    command)
      local -a commands
      commands=(
${commands.join("\n")}
      )
      _describe command commands ;;
    word)
      case $line[1] in
${verbs.join("\n")}
        *) _files ;;
      esac ;;
  esac
}
if [[ $funcstack[1] == _shiro ]]; then _shiro "$@"; else compdef _shiro shiro; fi
`;
}

function zshFlag(flag: Flag): string[] {
  const values = valuesOf(flag);
  const action = values === null ? "" : `:${quoted(flag.value ?? "")}:${zshValues(values)}`;
  const long = `    '--${flag.name}${values === null ? "" : "="}[${quoted(flag.help)}]${action}'`;
  if (!flag.short) return [long];
  return [long, `    '-${flag.short}${values === null ? "" : "+"}[${quoted(flag.help)}]${action}'`];
}

function zshValues(values: Values): string {
  switch (values) {
    case "file":
      return "_files";
    case "directory":
      return "_files -/";
    case "session":
      return "_shiro_sessions";
    case "any":
      return "";
    default:
      return `(${values.join(" ")})`;
  }
}

function fish(): string {
  const commands = SUBCOMMANDS.flatMap((command) => [
    `complete -c shiro -n __fish_use_subcommand -a ${command.name} -d '${quoted(command.help)}'`,
    ...(verbsOf(command).length > 0
      ? [`complete -c shiro -n '${fishAfter(command)}' -a '${verbsOf(command).join(" ")}'`]
      : []),
  ]);
  return `function __shiro_sessions
  shiro sessions 2>/dev/null | string replace -rf '^([0-9a-f-]{36}) +(.*)$' '$1'\\t'$2'
end
complete -c shiro -f
${[...commands, ...FLAGS.map(fishFlag)].join("\n")}
`;
}

/** Behind the subcommand, as long as none of its words has been typed. */
const fishAfter = (command: Subcommand): string =>
  `__fish_seen_subcommand_from ${command.name}; and not __fish_seen_subcommand_from ${verbsOf(command).join(" ")}`;

function fishFlag(flag: Flag): string {
  const values = valuesOf(flag);
  const short = flag.short ? ` -s ${flag.short}` : "";
  return `complete -c shiro -l ${flag.name}${short}${values === null ? "" : fishValues(values)} -d '${quoted(flag.help)}'`;
}

function fishValues(values: Values): string {
  switch (values) {
    case "file":
      return " -r -F";
    case "directory":
      return " -x -a '(__fish_complete_directories)'";
    case "session":
      return " -x -k -a '(__shiro_sessions)'";
    case "any":
      return " -x";
    default:
      return ` -x -a '${values.join(" ")}'`;
  }
}

/** Help texts stand in single quotes and, for zsh, in brackets and between colons. */
function quoted(text: string): string {
  return text.replaceAll("'", "’").replaceAll("[", "(").replaceAll("]", ")").replaceAll(":", ";");
}
