/** Variables whose value changes what later commands do or which code they run. Names only; permission-command.ts and the parser act on them. */

const NAMES = new Set(
  (
    "PATH FPATH BASH_ENV ENV IFS PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS SHELL HOME ZDOTDIR CDPATH GLOBIGNORE XDG_CONFIG_HOME " +
    "NODE_OPTIONS NODE_PATH PERLLIB RUBYOPT RUBYLIB CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS JDK_JAVA_OPTIONS " +
    "PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE GCONV_PATH CC CXX MAKEFLAGS MAKEFILES GOFLAGS " +
    "RUSTC RUSTC_WRAPPER RUSTDOC RUSTFLAGS SSH_ASKPASS SUDO_ASKPASS TAR_OPTIONS RSYNC_RSH CVS_RSH CURL_HOME WGETRC PSQLRC AWKPATH AWKLIBPATH RIPGREP_CONFIG_PATH"
  ).split(" "),
);

const FAMILIES = /^(LD_|DYLD_|GIT_|BASH_FUNC_|PYTHON|PERL5|BUN_|SHIRO_|CARGO_|npm_config_|NPM_CONFIG_)/;

/** Whether setting a variable of this name can make later commands run other code. */
export function steersCommands(name: string): boolean {
  return NAMES.has(name) || FAMILIES.test(name);
}
