/** `/cost` and `shiro cost`: what sessions have cost. */
import type { Command } from "./command.ts";
import { renderCosts, sumCosts } from "./cost.ts";
import type { Interactive } from "./interactive-host.ts";
import { dataSource } from "./models.ts";
import { formatUsd } from "./pricing.ts";
import type { Spend } from "./session-record.ts";
import { listSessions } from "./sessions.ts";

/** All saved sessions from a day (`YYYY-MM-DD`, null: all) on, as text or JSON. */
export function costReport(home: string, since: string | null, json: boolean): string {
  const { sessions } = listSessions(home);
  const report = sumCosts(sessions, since);
  return json ? JSON.stringify(report) : `${renderCosts(report)}${priceNote()}`;
}

function priceNote(): string {
  const { source, retrieved } = dataSource();
  return `Prices: ${source}, as of ${retrieved}. Estimates, not a bill.`;
}

export function costCommands(host: Interactive): Command[] {
  return [
    {
      name: "cost",
      immediate: true,
      args: "",
      summary: "tokens and cost of this session",
      run(_, ui) {
        const { record } = host.session.parts.file;
        const rows = record.spend.map(
          (row) => `${row.day}  ${row.model}${row.subagent ? " (subagents and summaries)" : ""}: ${spendLine(row)}`,
        );
        const total = `session: ${record.inputTokens} in / ${record.outputTokens} out tokens, ${share(record.cacheReadTokens, record.inputTokens)} cached, ${formatUsd(record.costUsd)}`;
        ui.print([...rows, total, priceNote()].join("\n"));
      },
    },
  ];
}

function spendLine(row: Spend): string {
  const unpriced = row.unpriced > 0 && row.costUsd !== null ? ` + ${row.unpriced} unpriced` : "";
  const estimated = row.estimated > 0 ? ` (~ ${row.estimated} estimated)` : "";
  return `${row.requests} ${row.requests === 1 ? "request" : "requests"}, ${row.inputTokens} in / ${row.outputTokens} out, ${share(row.cacheReadTokens, row.inputTokens)} cached, ${formatUsd(row.costUsd)}${unpriced}${estimated}`;
}

function share(part: number, whole: number): string {
  return whole === 0 ? "0 %" : `${Math.round((part / whole) * 100)} %`;
}
