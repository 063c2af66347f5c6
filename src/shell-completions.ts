/** Completion scripts for bash, zsh and fish, made of the same tables as the usage. */
import { FLAGS, SUBCOMMANDS } from "./args.ts";
import { UserError } from "./errors.ts";

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

const words = (): string =>
  [...SUBCOMMANDS.map((command) => command.name), ...FLAGS.map((flag) => `--${flag.name}`)].join(" ");

function bash(): string {
  return `_shiro() {
  local cur=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=($(compgen -W "${words()}" -- "$cur") $(compgen -f -- "$cur"))
}
complete -F _shiro shiro
`;
}

function zsh(): string {
  const flags = FLAGS.map(
    (flag) =>
      `    '--${flag.name}${flag.value ? "=" : ""}[${quoted(flag.help)}]${flag.value ? `:${flag.value}:` : ""}'`,
  );
  const commands = SUBCOMMANDS.map((command) => `'${command.name}:${quoted(command.help)}'`).join(" ");
  return `#compdef shiro
_shiro() {
  local -a commands
  commands=(${commands})
  _arguments \\
${flags.join(" \\\n")} \\
    '1: :{_describe command commands}' \\
    '*:file:_files'
}
_shiro "$@"
`;
}

function fish(): string {
  const commands = SUBCOMMANDS.map(
    (command) => `complete -c shiro -n __fish_use_subcommand -a ${command.name} -d '${quoted(command.help)}'`,
  );
  const flags = FLAGS.map(
    (flag) =>
      `complete -c shiro -l ${flag.name}${flag.short ? ` -s ${flag.short}` : ""}${flag.value ? " -r" : ""} -d '${quoted(flag.help)}'`,
  );
  return `${[...commands, ...flags].join("\n")}\n`;
}

/** Help texts stand in single quotes and, for zsh, in brackets. */
function quoted(text: string): string {
  return text.replaceAll("'", "’").replaceAll("[", "(").replaceAll("]", ")").replaceAll(":", ";");
}
