/** Decides whether a model id means a known model: prefixes, vendor paths, dates. Pure; holds no facts about models. */

// A rest that holds one of these is another product with its own price and limits, not a dated copy.
const OTHER_PRODUCT =
  /^(mini|nano|lite|pro|max|codex|flash|air|fast|turbo|small|medium|large|ultra|spark|chat|image|audio|tts|live|realtime|search|transcribe|embedding|guard|distill|highspeed|non|\d+(\.\d+)?[bm])$/;

/** `Anthropic/Claude-Sonnet-4.5` → `anthropic/claude-sonnet-4-5`: one spelling for what vendors and gateways write differently. */
export function canonicalId(id: string): string {
  return id
    .trim()
    .toLowerCase()
    .replace(/^(?:models|openrouter)\//, "")
    .replace(/^(?:[a-z]{2,6}\.)?anthropic\.(?=claude)/, "") // Bedrock: us.anthropic.claude-…-v1:0
    .replace(/^(?=claude-|[^]*\/claude-).*/, (claude) => claude.replace(/-v\d{1,4}:\d{1,4}$/, ""))
    .replace(/(\d)\.(?=\d)/g, "$1-")
    .replace(/[@:_]/g, "-");
}

/** The id without its vendor path: `openai/gpt-5` → `gpt-5`. */
export function bareId(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

/** The vendor path of an id, empty where there is none: `openai/gpt-5` → `openai`. */
export function vendorOf(id: string): string {
  const slash = id.lastIndexOf("/");
  return slash < 0 ? "" : id.slice(id.lastIndexOf("/", slash - 1) + 1, slash);
}

/** True when `id` is `known`, or `known` with a date, build or channel behind it. Both canonical. */
export function coversId(known: string, id: string): boolean {
  if (!id.startsWith(known)) return false;
  const rest = id.slice(known.length);
  return rest === "" || (rest.startsWith("-") && isSameProduct(rest.slice(1).split("-")));
}

function isSameProduct(words: readonly string[]): boolean {
  // One or two digits go on with the version number (5 → 5-1); dates and builds have three or more.
  return !/^\d{1,2}$/.test(words[0] ?? "") && !words.some((word) => OTHER_PRODUCT.test(word));
}
