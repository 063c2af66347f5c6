/** Tool calls on screen: one line when a call starts, its live output folded, one line when it ends. Sanitises all it shows. */
import { diffCounts, diffView } from "./diff-view.ts";
import { type Colours, coloursOf } from "./render-colours.ts";
import { duration, type Marks, marksOf } from "./render-lines.ts";
import { LAST_CHARS, LiveOutput } from "./render-live.ts";
import { sanitize, sanitizeCommandOutput, sanitizeLabel, sanitizeLine } from "./sanitize.ts";
import type { TerminalTraits } from "./terminal-traits.ts";
import { cutMiddle, cutWidth, oneLine } from "./text.ts";
import type { AgentEvent, JsonObject } from "./types.ts";

const DIFF_LINES = 40;
const ERROR_LINES = 3;
const ERROR_CHARS = 300;
/** Notes of a call that esc (the loop's word) or ctrl-c (the bash tool's) has ended. */
const STOPPED_BY_USER: ReadonlySet<string> = new Set(["interrupted", "stopped"]);

type ToolEvent = Extract<AgentEvent, { id: string; name: string } | { type: "tool-output" }>;

interface OpenCall {
  name: string;
  title: string;
  input: JsonObject;
  begun: boolean;
  live: LiveOutput | null;
  /** Why it failed, until its end says whose doing that was. */
  error: string | null;
  explained: boolean;
}

export interface ToolRenderOptions {
  traits: TerminalTraits;
  columns(): number;
  /** Whole lines, each with its end. */
  print(text: string): void;
  /** As `print`, for words of our own, which are wrapped. */
  say(text: string): void;
}

export class ToolRenderer {
  readonly #options: ToolRenderOptions;
  readonly #colours: Colours;
  readonly #marks: Marks;
  readonly #open = new Map<string, OpenCall>();
  #last: string | null = null;
  #seen: string | null = null;
  #asked = false;
  /** The call whose line was printed last: the end line of any other names its call. */
  #front: string | null = null;

  constructor(options: ToolRenderOptions) {
    this.#options = options;
    this.#colours = coloursOf(options.traits);
    this.#marks = marksOf(options.traits);
  }

  /** Output of the last call that gave any. */
  get lastOutput(): string | null {
    return this.#last;
  }

  /** What runs now, for the wait indicator. */
  get running(): string | null {
    for (const call of this.#open.values()) if (call.begun) return call.name;
    return null;
  }

  event(event: ToolEvent): void {
    switch (event.type) {
      case "tool-start":
      case "approval":
        return;
      case "tool-call":
        return this.#written(event.id, event.name, event.input);
      case "tool-begin":
        return this.#begin(event.id, event.name, event.title, event.agent);
      case "tool-output":
        return this.#output(event.id, event.text, event.agent);
      case "tool-result":
        if (!event.agent) this.#keepResult(event.id, event.output);
        return;
      case "tool-error":
        return this.#failed(event.id, event.name, event.error, event.agent);
      case "tool-denied":
        return this.#denied(event);
      case "tool-end":
        return this.#end(event);
      default:
        event satisfies never;
    }
  }

  /** Forgets calls whose end never came (an aborted turn). */
  reset(): void {
    this.#open.clear();
    this.#seen = null;
    this.#asked = false;
    this.#front = null;
  }

  #written(id: string, name: string, input: JsonObject): void {
    const call = this.#call(id, name);
    call.title = titleOf(input);
    call.input = input;
  }

  #call(id: string, name: string): OpenCall {
    const known = this.#open.get(id);
    if (known) return known;
    const call: OpenCall = { name, title: "", input: {}, begun: false, live: null, error: null, explained: false };
    this.#open.set(id, call);
    return call;
  }

  #begin(id: string, name: string, title: string, agent: string | undefined): void {
    const call = this.#call(id, name);
    // A tool that says no more of its calls than its name: what it is given tells them apart.
    call.title = title === name ? argumentsOf(call.input) : title;
    call.begun = true;
    this.#asked = false;
    this.#front = id;
    this.#options.print(`${this.#head(call, agent)}\n`);
  }

  #head(call: OpenCall, agent: string | undefined): string {
    const { traits } = this.#options;
    const label = agent ? `[${sanitizeLabel(agent, 40, traits)}] ` : "";
    const name = sanitizeLine(call.name, traits);
    // Sanitised before it is cut: what replaces a character is wider than it.
    const title = sanitizeLabel(call.title, 2000, traits);
    const lead = traits.plain ? `${label}tool ` : `${label}${this.#marks.tool} `;
    const room = Math.max(20, this.#options.columns() - 1 - lead.length - name.length - 1);
    const shown = traits.plain ? title : cutWidth(title, room, this.#marks.dots);
    return `${lead}${this.#colours.bold(name)}${shown ? ` ${shown}` : ""}`;
  }

  #output(id: string, text: string, agent: string | undefined): void {
    if (agent) return;
    const call = this.#open.get(id);
    if (!call) return;
    call.live ??= new LiveOutput(this.#options.traits);
    for (const line of call.live.push(text)) this.#liveLine(line);
  }

  #liveLine(line: string): void {
    this.#options.print(`  ${this.#colours.dim(line)}\n`);
  }

  #keepResult(id: string, output: string): void {
    const call = this.#open.get(id);
    if (!call?.live && output !== "") this.#remember(output);
  }

  #remember(output: string): void {
    const { dots } = this.#marks;
    this.#last = cutMiddle(output, LAST_CHARS, (count) => `\n${dots} ${count} characters left out ${dots}\n`).text;
  }

  #failed(id: string, name: string, error: string, agent: string | undefined): void {
    const call = this.#call(id, name);
    if (!call.live) this.#remember(plainWords(error));
    if (call.begun) {
      if (!call.live) call.error = error;
      return;
    }
    // A call that was refused before it ran has no end of its own.
    this.#open.delete(id);
    this.#options.print(`${this.#head(call, agent)}\n`);
    this.#error(error, agent);
  }

  #error(error: string, agent: string | undefined): void {
    const lines = sanitize(plainWords(error), this.#options.traits).trimEnd().split("\n");
    const label = agent ? `[${sanitizeLabel(agent, 40, this.#options.traits)}] ` : "";
    for (const line of lines.slice(0, ERROR_LINES))
      this.#options.say(`  ${label}${this.#colours.red(oneLine(line, ERROR_CHARS, this.#marks.dots))}\n`);
    if (lines.length > ERROR_LINES) this.#more(lines.length - ERROR_LINES);
  }

  #denied(event: Extract<AgentEvent, { type: "tool-denied" }>): void {
    const call = this.#call(event.id, event.name);
    if (!call.begun) this.#options.print(`${this.#head(call, event.agent)}\n`);
    this.#options.say(`  ${this.#colours.red(`denied (${event.by})`)}${this.#denial(event)}\n`);
    call.explained = true;
  }

  /** Whoever has just said no need not be told why; the reason's text is for the model then. */
  #denial(event: Extract<AgentEvent, { type: "tool-denied" }>): string {
    const asked = this.#asked;
    this.#asked = false;
    if (event.by === "user") return asked ? "" : ": you refused this call before";
    const { traits } = this.#options;
    // A plugin's refusal is its own: its name need not be read three times.
    const own = event.rule === undefined || event.rule === `plugin ${event.by}`;
    const rule = own ? "" : this.#colours.dim(` [rule: ${sanitizeLine(event.rule ?? "", traits)}]`);
    const prefix = `${event.by}: `;
    const reason = event.reason.startsWith(prefix) ? event.reason.slice(prefix.length) : event.reason;
    return `: ${sanitizeLabel(reason, 1000, traits)}${rule}`;
  }

  #end(event: Extract<AgentEvent, { type: "tool-end" }>): void {
    const call = this.#call(event.id, event.name);
    this.#open.delete(event.id);
    this.#endLive(call);
    // Whoever has just stopped it need not be told so at length: that text is for the model.
    if (call.error !== null && !STOPPED_BY_USER.has(event.note ?? "")) this.#error(call.error, event.agent);
    if (event.diff) this.#diff(event.diff);
    if (event.outcome === "denied" && call.explained) return;
    this.#options.say(`${this.#endColour(event)(`  ${this.#endText(event, call)}`)}\n`);
    // The next end can't be read as that of the line above any more.
    if (this.#front !== event.id) this.#front = NOBODY;
  }

  #endText(event: Extract<AgentEvent, { type: "tool-end" }>, call: OpenCall): string {
    const { traits } = this.#options;
    const label = event.agent ? `[${sanitizeLabel(event.agent, 40, traits)}] ` : "";
    const colon = event.note === undefined ? "" : ":";
    const whose = this.#front === event.id || this.#front === null ? "" : `${colon} ${this.#named(call)}`;
    const how =
      event.note === undefined ? event.outcome : howItEnded(event.outcome, sanitizeLabel(event.note, 60, traits));
    return `${label}${how}${whose} (${duration(event.ms)})${event.diff ? this.#counts(event.diff) : ""}`;
  }

  #endColour(event: Extract<AgentEvent, { type: "tool-end" }>): (text: string) => string {
    if (event.outcome !== "ok") return this.#colours.red;
    return event.note === undefined ? this.#colours.dim : this.#colours.yellow;
  }

  /** Which of several calls: two reads differ by their files only. */
  #named(call: OpenCall): string {
    const title = sanitizeLabel(call.title, 60, this.#options.traits);
    return `${sanitizeLine(call.name, this.#options.traits)}${title ? ` ${title}` : ""}`;
  }

  #endLive(call: OpenCall): void {
    if (!call.live) return;
    for (const line of call.live.end()) this.#liveLine(line);
    if (call.live.hidden > 0) this.#more(call.live.hidden);
    this.#last = call.live.whole;
  }

  #more(count: number): void {
    this.#options.print(`  ${this.#colours.dim(`${this.#marks.dots} ${count} more lines (/last shows all)`)}\n`);
  }

  /** The person is asked about the next call: its diff is not shown again when it is done, and a no is theirs. */
  asked(diff: string | null): void {
    this.#asked = true;
    this.#seen = diff;
  }

  #diff(diff: string): void {
    this.#remember(diff);
    const seen = diff === this.#seen;
    this.#seen = null;
    if (seen) return;
    this.#options.print(diffView(diff, { ...this.#options.traits, maxLines: DIFF_LINES, rest: "/last shows all" }));
  }

  #counts(diff: string): string {
    const { added, removed } = diffCounts(diff);
    return `${this.#marks.dot} +${added} -${removed}`;
  }
}

/** The front of nobody: every end names its call. */
const NOBODY = "";

function howItEnded(outcome: "ok" | "failed" | "denied", note: string): string {
  return outcome === "ok" ? note : `${outcome}, ${note}`;
}

// The category in front is for the model, which acts on it.
function plainWords(error: string): string {
  return error.replace(/^\[(?:validation|permission|transient|tool) error\] /, "");
}

const TITLE_FIELDS = ["command", "path", "pattern", "query", "url", "name", "description", "ref", "text"];

/** The argument that tells calls apart, for calls that never got a title of their own. */
function titleOf(input: JsonObject): string {
  const value = TITLE_FIELDS.map((field) => input[field]).find((field) => typeof field === "string");
  return typeof value === "string" ? value : "";
}

function argumentsOf(input: JsonObject): string {
  return Object.keys(input).length === 0 ? "" : cutMiddle(JSON.stringify(input), 2000).text;
}

/** What `/last` prints: the whole output, safe for the screen. */
export function shownWhole(output: string, traits: TerminalTraits): string {
  return sanitizeCommandOutput(output, traits);
}
