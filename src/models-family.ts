/** What to expect of a model nobody has written down, from the family its id names. Pure; known models are in models.ts. */
export interface ReasoningFacts {
  /** What the model can be told; empty: it reasons and takes no control. */
  kinds: readonly ("effort" | "toggle" | "budget")[];
  /** Accepted effort words. */
  effort: readonly string[];
  /** Thinking budget in tokens. */
  budget: { min?: number; max?: number } | null;
  /** Effort where none is sent. */
  default: string | null;
  /** How thinking is switched off: by effort `none`, by a switch, by leaving it out, only between tools, or not at all. */
  off: "none" | "disabled" | "omit" | "between-tools" | "never";
  /** Effort that must go with the switch. */
  offEffort: string | null;
  /** Anthropic wire: adaptive thinking or a token budget. */
  form: "adaptive" | "budget" | null;
  /** Field of a chat message the reasoning arrives in and must be sent back under. */
  field: string | null;
  /** Highest effort on chat completions, where that is below the list. */
  chatLimit: string | null;
}

export interface Family {
  /** False: the family does not reason. */
  reasoning: ReasoningFacts | false;
  temperature: boolean;
  responsesOnly: boolean;
  bindsThinking: boolean;
  interleavedDisplay: boolean;
}

const TO_HIGH = ["low", "medium", "high"] as const;
const TO_XHIGH = [...TO_HIGH, "xhigh"] as const;
const TO_MAX = [...TO_XHIGH, "max"] as const;

const PLAIN: Family = {
  reasoning: false,
  temperature: true,
  responsesOnly: false,
  bindsThinking: false,
  interleavedDisplay: false,
};

// First match wins, so the exceptions of a family stand above its rule.
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^claude-(?:instant|2|3-(?!7)|(?:opus|sonnet|haiku)-3)/, PLAIN],
  [/^claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-|$))/, claude("budget", "omit")],
  // A newer Claude is taken for the strictest one known: it thinks always and binds its thinking to the history.
  [/^claude-/, { ...claude("adaptive", "never"), temperature: false, bindsThinking: true, interleavedDisplay: true }],
  [/^gpt-oss/, { ...PLAIN, reasoning: efforts(TO_HIGH) }],
  [/^(?:chatgpt|gpt-[34]|gpt-[5-9].*-chat|davinci|babbage)/, PLAIN],
  [/^gpt-5(?:-[1-3])?-(?:.*-)?(?:pro|codex)|^gpt-5-[4-9]/, openai(TO_HIGH, true)],
  [/^gpt-5/, openai(TO_HIGH, false)],
  [/^gpt-\d|codex/, openai(TO_XHIGH, true)],
  [/^o\d.*-pro/, openai(TO_HIGH, true)],
  [/^o\d/, openai(TO_HIGH, false)],
  [/^gemini-(?:1|2-0|exp)/, PLAIN],
  [/^gemini-/, { ...PLAIN, reasoning: efforts(TO_HIGH) }],
  [/^grok-3-mini/, { ...PLAIN, reasoning: efforts(["low", "high"]) }],
  [/^grok-(?:4-[3-9]|[5-9])/, { ...PLAIN, reasoning: efforts(TO_HIGH) }],
  // Older Groks choose the mode by id and refuse the parameter.
  [/^grok-/, { ...PLAIN, reasoning: fixed() }],
  [/^deepseek-(?:flash|v[4-9])/, { ...PLAIN, reasoning: deepseek() }],
  [/^magistral/, { ...PLAIN, reasoning: fixed() }],
  [/^(?:open-)?(?:mistral|mixtral|codestral|devstral|ministral|pixtral)/, PLAIN],
  [/^(?:meta-)?(?:code)?llama|^gemma-?[123]|^qwen-?2|^starcoder|^phi-?[34](?!.*reason)|^compound/, PLAIN],
];

/** Family of a canonical id without vendor path, null where none is known. */
export function familyOf(bare: string): Family | null {
  return FAMILIES.find(([pattern]) => pattern.test(bare))?.[1] ?? null;
}

function efforts(effort: readonly string[]): ReasoningFacts {
  return { ...fixed(), kinds: ["effort"], effort };
}

function fixed(): ReasoningFacts {
  return {
    kinds: [],
    effort: [],
    budget: null,
    default: null,
    off: "never",
    offEffort: null,
    form: null,
    field: null,
    chatLimit: null,
  };
}

function deepseek(): ReasoningFacts {
  return {
    ...efforts(["low", "high", "max"]),
    kinds: ["toggle", "effort"],
    off: "disabled",
    field: "reasoning_content",
  };
}

function claude(form: "adaptive" | "budget", off: ReasoningFacts["off"]): Family {
  const reasoning = form === "budget" ? { ...fixed(), kinds: ["budget" as const] } : efforts(TO_MAX);
  return { ...PLAIN, reasoning: { ...reasoning, form, off, budget: form === "budget" ? { min: 1024 } : null } };
}

function openai(effort: readonly string[], responsesOnly: boolean): Family {
  return { ...PLAIN, reasoning: efforts(effort), temperature: false, responsesOnly };
}
