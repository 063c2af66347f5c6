/** Splits HTML into tags and text in one pass, forgiving as browsers are, and decodes entities. What tags mean is html.ts. */

export type HtmlToken =
  | { kind: "text"; text: string }
  | { kind: "open"; name: string; attributes: ReadonlyMap<string, string>; selfClosing: boolean }
  | { kind: "close"; name: string };

/** Elements whose content is text up to their end tag, whatever it looks like. */
const RAW = new Set(["script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"]);

const TAG = /<(?:(\/)?([a-zA-Z][^\s/>]*)|!--|[!?])/g;

/** Tokens of a document. Never throws; time is linear in its length. */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  const tag = new RegExp(TAG);
  for (let found = tag.exec(html); found; found = tag.exec(html)) {
    if (found.index > at) yield { kind: "text", text: decodeEntities(html.slice(at, found.index)) };
    const name = found[2]?.toLowerCase();
    const read =
      name === undefined
        ? { end: endOfMarkup(html, found.index), token: null }
        : readTag(html, tag.lastIndex, name, found[1] === "/");
    at = read.end;
    if (read.token) yield read.token;
    if (read.token?.kind === "open" && RAW.has(read.token.name) && !read.token.selfClosing) {
      const end = endOfRaw(html, at, read.token.name);
      const text = html.slice(at, end);
      if (text !== "") yield { kind: "text", text: decodeEntities(text) };
      at = end;
    }
    tag.lastIndex = at;
  }
  if (at < html.length) yield { kind: "text", text: decodeEntities(html.slice(at)) };
}

/** Comments, doctype, processing instructions, CDATA: nothing of them is shown. */
function endOfMarkup(html: string, start: number): number {
  const closing = html.startsWith("<!--", start) ? "-->" : ">";
  const end = html.indexOf(closing, start + (closing === ">" ? 1 : 4));
  return end < 0 ? html.length : end + closing.length;
}

function endOfRaw(html: string, start: number, name: string): number {
  const closing = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  closing.lastIndex = start;
  return closing.exec(html)?.index ?? html.length;
}

const ATTRIBUTE = /[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?/y;
const TAG_END = /[\s/]*>/y;
/** A tag with more attributes is no page. */
const MAX_ATTRIBUTES = 200;

function readTag(html: string, start: number, name: string, isClose: boolean): { end: number; token: HtmlToken } {
  const attributes = new Map<string, string>();
  const attribute = new RegExp(ATTRIBUTE);
  let at = start;
  for (let count = 0; count < MAX_ATTRIBUTES; count++) {
    attribute.lastIndex = at;
    const found = attribute.exec(html);
    if (!found || found[1] === undefined) break;
    const key = found[1].toLowerCase();
    if (!attributes.has(key)) attributes.set(key, decodeEntities(found[2] ?? found[3] ?? found[4] ?? ""));
    at = attribute.lastIndex;
  }
  const close = new RegExp(TAG_END);
  close.lastIndex = at;
  const closed = close.exec(html);
  const end = closed ? close.lastIndex : afterNext(html, ">", at);
  const selfClosing = closed?.[0].includes("/") ?? false;
  return { end, token: isClose ? { kind: "close", name } : { kind: "open", name, attributes, selfClosing } };
}

function afterNext(html: string, char: string, from: number): number {
  const at = html.indexOf(char, from);
  return at < 0 ? html.length : at + 1;
}

/** Those met in ordinary pages; the other two thousand stay as written. */
const ENTITIES: Readonly<Record<string, string>> = {
  ...{
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: " ",
    copy: "©",
    reg: "®",
    trade: "™",
    hellip: "…",
    mdash: "—",
    ndash: "–",
  },
  ...{
    lsquo: "‘",
    rsquo: "’",
    ldquo: "“",
    rdquo: "”",
    laquo: "«",
    raquo: "»",
    bull: "•",
    middot: "·",
    times: "×",
    divide: "÷",
    deg: "°",
  },
  ...{
    plusmn: "±",
    micro: "µ",
    para: "¶",
    sect: "§",
    euro: "€",
    pound: "£",
    yen: "¥",
    cent: "¢",
    frac12: "½",
    frac14: "¼",
    frac34: "¾",
  },
  ...{
    larr: "←",
    rarr: "→",
    uarr: "↑",
    darr: "↓",
    harr: "↔",
    rArr: "⇒",
    le: "≤",
    ge: "≥",
    ne: "≠",
    asymp: "≈",
    infin: "∞",
    sum: "∑",
    minus: "−",
  },
  ...{
    auml: "ä",
    ouml: "ö",
    uuml: "ü",
    Auml: "Ä",
    Ouml: "Ö",
    Uuml: "Ü",
    szlig: "ß",
    eacute: "é",
    egrave: "è",
    ecirc: "ê",
    agrave: "à",
    aacute: "á",
  },
  ...{
    acirc: "â",
    ccedil: "ç",
    iacute: "í",
    icirc: "î",
    iuml: "ï",
    ntilde: "ñ",
    oacute: "ó",
    ocirc: "ô",
    uacute: "ú",
    ugrave: "ù",
    ucirc: "û",
  },
  ...{
    aring: "å",
    Aring: "Å",
    oslash: "ø",
    Oslash: "Ø",
    aelig: "æ",
    AElig: "Æ",
    Eacute: "É",
    iexcl: "¡",
    iquest: "¿",
    thinsp: " ",
    ensp: " ",
  },
  ...{
    emsp: " ",
    zwnj: "\u200c",
    zwj: "\u200d",
    shy: "",
    lrm: "",
    rlm: "",
    check: "✓",
    star: "☆",
    lbrace: "{",
    rbrace: "}",
    lbrack: "[",
    rbrack: "]",
  },
  ...{
    lpar: "(",
    rpar: ")",
    num: "#",
    dollar: "$",
    percnt: "%",
    ast: "*",
    plus: "+",
    comma: ",",
    period: ".",
    sol: "/",
    colon: ":",
    semi: ";",
  },
  ...{
    equals: "=",
    quest: "?",
    commat: "@",
    bsol: "\\",
    Hat: "^",
    lowbar: "_",
    grave: "`",
    vert: "|",
    tilde: "˜",
    newline: "\n",
    Tab: "\t",
    excl: "!",
  },
};

export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#[xX]([0-9a-fA-F]{1,6})|#(\d{1,7})|([A-Za-z][A-Za-z0-9]{1,10}));?/g,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? whole) : whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? "\ufffd" : String.fromCodePoint(code);
    },
  );
}
