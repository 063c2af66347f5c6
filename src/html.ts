/** HTML → markdown, for a model to read: headings, links, lists, code, tables. Not a browser: no styles, no scripts, no layout. */
import { type HtmlToken, htmlTokens } from "./html-tokens.ts";

export interface Markdown {
  title: string;
  text: string;
}

/** Everything inside is left out. */
const SKIPPED = new Set([
  "script",
  "style",
  "template",
  "svg",
  "math",
  "iframe",
  "object",
  "canvas",
  "noembed",
  "noframes",
  "select",
  "textarea",
]);
/** Elements that have no end tag. */
const VOID = new Set([
  "br",
  "hr",
  "img",
  "input",
  "meta",
  "link",
  "area",
  "base",
  "col",
  "embed",
  "source",
  "track",
  "wbr",
]);
const BLOCKS = new Set(
  "p div section article header footer main aside nav figure figcaption form address dl fieldset table ul ol pre blockquote h1 h2 h3 h4 h5 h6 hr details summary body".split(
    " ",
  ),
);
const LINES = new Set(["li", "tr", "dt", "dd", "option", "legend", "caption"]);
/** Elements whose content is changed as a whole when they end. */
const HELD = new Set("a li ul ol blockquote pre code h1 h2 h3 h4 h5 h6 table tr td th strong b em i title".split(" "));
/** An element that begins closes the one of the same kind before it, as far as the nearest of these. */
const SIBLINGS: Readonly<Record<string, { closes: readonly string[]; within: readonly string[] }>> = {
  li: { closes: ["li"], within: ["ul", "ol"] },
  tr: { closes: ["tr"], within: ["table"] },
  td: { closes: ["td", "th"], within: ["tr", "table"] },
  th: { closes: ["td", "th"], within: ["tr", "table"] },
  a: { closes: ["a"], within: ["table", "td"] },
};
/** Deeper nesting is flattened: each level is written once more when it ends, quotes and lists line by line. */
const MAX_HELD = 40;
const MAX_INDENTED = 8;

interface Frame {
  name: string;
  attributes: ReadonlyMap<string, string>;
  parts: string[];
  /** Line ends due before the next text. */
  gap: 0 | 1 | 2;
  /** A blank at this point would be the second in a row, or the first on a line. */
  blank: boolean;
  /** Began with a blank, which was left out. */
  led: boolean;
  /** Items of a list, rows of a table. */
  count: number;
}

/** Converts a document. `base` is its address, for links. Never throws; time is linear in the length. */
export function htmlToMarkdown(html: string, base: string): Markdown {
  const writer = new Writer(base);
  for (const token of htmlTokens(html)) writer.take(token);
  return writer.end();
}

class Writer {
  #base: string;
  readonly #frames: Frame[] = [newFrame("", new Map())];
  #title = "";
  #skip: { name: string; depth: number } | null = null;

  constructor(base: string) {
    this.#base = base;
  }

  take(token: HtmlToken): void {
    if (this.#skip) return this.#skipTo(token);
    if (token.kind === "text") this.#text(token.text);
    else if (token.kind === "open") this.#open(token);
    else this.#close(token.name);
  }

  end(): Markdown {
    while (this.#frames.length > 1) this.#pop();
    const text = this.#top().parts.join("");
    return {
      title: this.#title,
      text: text
        .replace(/[ \t]+$/gm, "")
        .replace(/\n{3,}/g, "\n\n")
        .trim(),
    };
  }

  #top(): Frame {
    const frame = this.#frames.at(-1);
    if (!frame) throw new Error("The outermost frame was closed.");
    return frame;
  }

  #skipTo(token: HtmlToken): void {
    if (!this.#skip || token.kind === "text" || token.name !== this.#skip.name) return;
    this.#skip.depth += token.kind === "close" ? -1 : token.selfClosing ? 0 : 1;
    if (this.#skip.depth === 0) this.#skip = null;
  }

  #isIn(name: string): boolean {
    return this.#frames.some((frame) => frame.name === name);
  }

  #text(text: string): void {
    if (this.#isIn("pre")) return this.#put(text);
    const flat = text.replace(/\s+/g, " ");
    const frame = this.#top();
    if (frame.parts.length === 0 && flat.startsWith(" ")) frame.led = true;
    const shown = frame.blank || frame.gap > 0 ? flat.trimStart() : flat;
    if (shown === "") return;
    this.#put(shown);
    this.#top().blank = shown.endsWith(" ");
  }

  /** Adds text as it is, after the line ends that are due. */
  #put(text: string): void {
    const frame = this.#top();
    if (frame.gap > 0 && frame.parts.length > 0) frame.parts.push("\n".repeat(frame.gap));
    frame.gap = 0;
    frame.blank = text.endsWith("\n");
    frame.parts.push(text);
  }

  #break(lines: 1 | 2): void {
    const frame = this.#top();
    frame.gap = frame.gap === 2 ? 2 : lines;
  }

  #open(token: HtmlToken & { kind: "open" }): void {
    const { name } = token;
    if (SKIPPED.has(name)) {
      if (!token.selfClosing) this.#skip = { name, depth: 1 };
      return;
    }
    this.#closeSiblings(name);
    if (VOID.has(name)) return this.#void(name, token.attributes);
    if (this.#isIn("pre")) return this.#language(token);
    this.#breakFor(name);
    if (HELD.has(name) && this.#hasRoom(name)) this.#frames.push(newFrame(name, token.attributes));
  }

  #hasRoom(name: string): boolean {
    if (this.#frames.length >= MAX_HELD) return false;
    return !INDENTED.has(name) || this.#frames.filter((frame) => INDENTED.has(frame.name)).length < MAX_INDENTED;
  }

  /** `<pre><code class="language-js">`: the class belongs to the block. */
  #language(token: HtmlToken & { kind: "open" }): void {
    const frame = this.#top();
    const known = `${frame.attributes.get("class") ?? ""} ${token.attributes.get("class") ?? ""}`;
    if (frame.name === "pre" && token.name === "code" && frame.parts.length === 0)
      frame.attributes = new Map([["class", known]]);
  }

  #closeSiblings(name: string): void {
    const rule = SIBLINGS[name];
    if (!rule) return;
    for (let index = this.#frames.length - 1; index > 0; index--) {
      const open = this.#frames[index]?.name ?? "";
      if (rule.within.includes(open)) return;
      if (rule.closes.includes(open)) return this.#popTo(index);
    }
  }

  #void(name: string, attributes: ReadonlyMap<string, string>): void {
    const alt = attributes.get("alt")?.replace(/\s+/g, " ").trim();
    if (name === "br") this.#lineEnd();
    else if (name === "hr") this.#rule();
    else if (name === "img" && alt) this.#text(`![${alt}]`);
    else if (name === "base") this.#base = resolveLink(attributes.get("href") ?? "", this.#base) ?? this.#base;
  }

  #lineEnd(): void {
    if (this.#isIn("pre")) this.#put("\n");
    else if (this.#top().parts.length > 0) this.#break(1);
  }

  #rule(): void {
    this.#break(2);
    this.#put("---");
    this.#break(2);
  }

  #close(name: string): void {
    // Nothing is held inside <pre>, so another name's end belongs to what is in it, or is stray.
    if (this.#isIn("pre") && name !== "pre") return;
    const index = this.#frames.findLastIndex((frame, at) => at > 0 && frame.name === name);
    if (index > 0) this.#popTo(index);
    this.#breakFor(name);
  }

  #breakFor(name: string): void {
    const isNested = (name === "ul" || name === "ol") && this.#top().name === "li";
    if (isNested || LINES.has(name)) this.#break(1);
    else if (BLOCKS.has(name)) this.#break(2);
  }

  #popTo(index: number): void {
    while (this.#frames.length > index) this.#pop();
  }

  #pop(): void {
    const frame = this.#frames.pop();
    if (!frame) return;
    const content = frame.parts.join("");
    if (frame.name === "title") this.#title ||= content.replace(/\s+/g, " ").trim();
    else this.#place(frame, content);
  }

  #place(frame: Frame, content: string): void {
    const parent = this.#top();
    const written = write(frame, content, parent, this.#base);
    if (written === "") return;
    // The blanks of an inline element stand outside its marks.
    if (frame.led && !parent.blank && parent.gap === 0 && INLINE.has(frame.name)) this.#put(" ");
    this.#put(written);
    if (INLINE.has(frame.name)) this.#text(/\s$/.test(content) ? " " : "");
    else this.#breakFor(frame.name);
  }
}

const INDENTED = new Set(["blockquote", "li"]);
const INLINE = new Set(["a", "code", "strong", "b", "em", "i"]);

function newFrame(name: string, attributes: ReadonlyMap<string, string>): Frame {
  return { name, attributes, parts: [], gap: 0, blank: true, led: false, count: 0 };
}

/** What an element leaves in its parent; "" when there is nothing to show. */
function write(frame: Frame, raw: string, parent: Frame, base: string): string {
  const content = raw.trim();
  const flat = content.replace(/\s+/g, " ");
  if (content === "" && frame.name !== "td" && frame.name !== "th") return "";
  switch (frame.name) {
    case "a":
      return link(flat, frame.attributes.get("href") ?? "", base);
    case "li":
      return item(content, parent);
    case "blockquote":
      return content.replace(/^/gm, "> ");
    case "pre":
      return fence(raw, frame.attributes.get("class") ?? "");
    case "code":
      return flat.includes("`") ? `\`\` ${flat} \`\`` : `\`${flat}\``;
    case "strong":
    case "b":
      return `**${flat}**`;
    case "em":
    case "i":
      return `*${flat}*`;
    case "tr":
      return row(content, frame, parent);
    case "td":
    case "th":
      frame.count = parent.count++;
      return ` ${flat.replaceAll("|", "\\|")} |`;
    default:
      return /^h[1-6]$/.test(frame.name) ? `${"#".repeat(Number(frame.name[1]))} ${flat}` : content;
  }
}

function link(text: string, href: string, base: string): string {
  const target = resolveLink(href, base);
  return target === null || target === text ? text : `[${text}](${target})`;
}

/** Absolute http(s) or mailto address; null for anchors on the page itself and for what can't be followed. */
function resolveLink(href: string, base: string): string | null {
  if (href === "" || href.startsWith("#") || !URL.canParse(href, base)) return null;
  const url = new URL(href, base);
  return /^(?:https?|mailto):$/.test(url.protocol) ? url.href : null;
}

function item(content: string, list: Frame): string {
  list.count++;
  const mark = list.name === "ol" ? `${list.count}. ` : "- ";
  return mark + content.replace(/\n(?=.)/g, `\n${" ".repeat(mark.length)}`);
}

function fence(raw: string, classes: string): string {
  const language = /(?:^|\s)(?:language|lang|highlight)-([\w+#-]+)/.exec(classes)?.[1] ?? "";
  // Not spread into Math.max: a page may hold more runs than a call may have arguments.
  const longest = (raw.match(/`{3,}/g) ?? []).reduce((length, run) => Math.max(length, run.length), 2);
  const ticks = "`".repeat(longest + 1);
  return `${ticks}${language}\n${raw.replace(/^\n|\s+$/g, "")}\n${ticks}`;
}

/** The first row of a table is followed by the line that makes it one. */
function row(content: string, frame: Frame, table: Frame): string {
  const cells = `| ${content.replace(/\n+/g, " ")}`;
  return table.count++ === 0 ? `${cells}\n|${" --- |".repeat(Math.max(1, frame.count))}` : cells;
}
