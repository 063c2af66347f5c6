/** Guard rules on SQL handed to a client: by option, argument, here-document or pipe. Quoted text inside the SQL doesn't count. */
import { inputOf, refuse, type GuardCommand, type GuardRule } from "./guard-rule.ts";

const CLIENTS = [
  "psql",
  "mysql",
  "mariadb",
  "sqlite3",
  "sqlite",
  "duckdb",
  "sqlcmd",
  "clickhouse-client",
  "clickhouse",
  "cockroach",
  "usql",
  "mycli",
  "pgcli",
  "litecli",
];

export const DATABASE_RULES: readonly GuardRule[] = [
  refuse("sql-drop", CLIENTS, "drops data for good", (command) =>
    statements(command).some((sql) => /\bdrop\s+(table|database|schema)\b/i.test(sql)),
  ),
  refuse("sql-truncate", CLIENTS, "empties a table for good", (command) =>
    statements(command).some((sql) => /^\s*truncate\b/i.test(sql)),
  ),
  refuse("sql-delete-all", CLIENTS, "deletes every row", (command) =>
    statements(command).some((sql) => /\bdelete\s+from\b/i.test(sql) && !/\bwhere\b/i.test(sql)),
  ),
  refuse("dropdb", ["dropdb"], "drops a database for good", ({ args }) =>
    args.some((arg) => !/^(--help|--version)$/.test(arg)),
  ),
  refuse("mysqladmin-drop", ["mysqladmin", "mariadb-admin"], "drops a database for good", ({ args }) =>
    args.includes("drop"),
  ),
];

function statements(command: GuardCommand): string[] {
  return [...command.args, inputOf(command)].flatMap((text) => withoutLiterals(optionText(text)).split(";"));
}

/** `-cDROP …`, `--command=DROP …`: the value alone, so that it stands at the start. */
function optionText(text: string): string {
  return text.replace(/^(--[a-z-]+=|-[a-zA-Z](?=[A-Za-z]{4}))/, "");
}

function withoutLiterals(sql: string): string {
  return sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g, " ");
}
