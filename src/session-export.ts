/** A session as a document for people (Markdown) or programs (JSON). Pure; writes no file. */
import { isPrompt, promptText, resultText } from "./message.ts";
import { formatRecord, type SessionRecord } from "./session-record.ts";
import { cutMiddle } from "./text.ts";
import type { AssistantPart, Message } from "./types.ts";

const RESULT_CHARS = 4_000;

/** The whole record, as it is saved. */
export function exportJson(record: SessionRecord): string {
  return `${JSON.stringify(JSON.parse(formatRecord(record)), null, 2)}\n`;
}

/** The conversation as Markdown: what was said, calls with their results, long results cut. Injected text is left out. */
export function exportMarkdown(record: SessionRecord): string {
  const head = [
    `# ${record.title || "Session"}`,
    "",
    `- session: \`${record.id}\``,
    `- started: ${record.createdAt}`,
    `- directory: \`${record.cwd}\``,
    `- model: ${record.provider} ${record.model}`,
  ];
  return `${[...head, ...record.messages.flatMap(blocksOf)].join("\n")}\n`;
}

function blocksOf(message: Message): string[] {
  switch (message.role) {
    case "user":
      if (message.summary) return ["", "## Summary of what came before", "", summaryText(message)];
      return isPrompt(message) ? ["", "## User", "", promptText(message)] : [];
    case "assistant":
      return message.content.flatMap(partBlocks);
    case "tool":
      return message.results.flatMap((result) => {
        const text = cutMiddle(resultText(result.content), RESULT_CHARS).text;
        return ["", result.isError ? `**${result.name} failed**` : `**${result.name}**`, "", fenced(text)];
      });
    default:
      return message satisfies never;
  }
}

function summaryText(message: Extract<Message, { role: "user" }>): string {
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function partBlocks(part: AssistantPart): string[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : ["", "## Agent", "", part.text.trim()];
    case "tool-call":
      return ["", `Call of \`${part.name}\`:`, "", fenced(JSON.stringify(part.input, null, 2), "json")];
    case "reasoning":
      return [];
    default:
      return part satisfies never;
  }
}

// The fence must be longer than any run of backticks inside, or the text would end it.
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
