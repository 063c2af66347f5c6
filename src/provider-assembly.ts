/** Tool calls put together from the pieces that chat-completion streams send. Keeps state for one answer; knows no wire but that one. */
import { BracketScan, CUT_MESSAGE, readArguments } from "./provider-arguments.ts";
import { isObject } from "./provider-errors.ts";
import type { CallIds } from "./provider-ids.ts";
import type { Json, JsonObject, PartMeta, ToolCallPart } from "./types.ts";

interface OpenCall {
  id: string;
  /** As the provider gave it; null until it did. */
  givenId: string | null;
  /** String of the index it came under, null where there was none. */
  index: string | null;
  name: string;
  pieces: string[];
  scan: BracketScan;
  /** Arguments that came as an object. */
  whole: JsonObject | null;
  extra: Json | null;
  announced: boolean;
}

/** Why a call without a name was not run. */
const NO_NAME = "The call came without a tool name and was not run.";
const NAMELESS = "unnamed_tool";
const CUT_ARGUMENTS = { input: {}, inputError: { kind: "truncated" as const, message: CUT_MESSAGE } };

/**
 * Collects deltas of `tool_calls`. Calls are told apart by index and by id; a piece with neither belongs to the latest,
 * unless it brings a name of its own after that one's arguments are complete.
 */
export class CallAssembly {
  readonly #ids: CallIds;
  readonly #calls: OpenCall[] = [];

  constructor(ids: CallIds) {
    this.#ids = ids;
  }

  get count(): number {
    return this.#calls.length;
  }

  /** Takes one element of `delta.tool_calls`. Returns the call when its name has just become known. */
  add(delta: JsonObject): { id: string; name: string } | null {
    const call = this.#find(delta);
    // A name is given once; some servers repeat it with every piece, some in full after an empty one.
    if (call.name === "") call.name = nameIn(delta);
    addArguments(call, functionIn(delta).arguments);
    if (delta.extra_content !== undefined) call.extra = delta.extra_content;
    if (call.announced || call.name === "") return null;
    call.announced = true;
    return { id: call.id, name: call.name };
  }

  /**
   * The calls in order of appearance. `metaOf` wraps opaque data; names are the model's. `cut`: the answer reached its
   * token limit, so a last call without any arguments has not got to them.
   */
  finish(metaOf: (data: JsonObject) => PartMeta, cut = false): ToolCallPart[] {
    const last = this.#calls.at(-1);
    return this.#calls.map((call) => {
      const text = call.pieces.join("");
      const unwritten = cut && call === last && call.whole === null && text.trim() === "";
      const read = call.whole ? { input: call.whole } : unwritten ? CUT_ARGUMENTS : readArguments(text);
      const meta = call.extra === null ? {} : { meta: metaOf({ extra_content: call.extra }) };
      const problem = call.name === "" ? { inputError: { kind: "invalid" as const, message: NO_NAME } } : {};
      return { type: "tool-call", id: call.id, name: call.name || NAMELESS, ...read, ...problem, ...meta };
    });
  }

  #find(delta: JsonObject): OpenCall {
    const index = delta.index === undefined || delta.index === null ? null : String(delta.index);
    const id = typeof delta.id === "string" && delta.id !== "" ? delta.id : null;
    const known = index === null ? this.#byId(id) : (this.#byIndex(index) ?? this.#strayPiece(delta, id));
    if (!known) return this.#open(index, id);
    if (id === null && startsAnother(known, delta, index)) return this.#open(index, id);
    // A different id at a used index is another call: several servers number every call 0.
    if (id !== null && known.givenId !== null && known.givenId !== id)
      return this.#byGivenId(id) ?? this.#open(index, id);
    if (known.givenId === null && id !== null) this.#adopt(known, id);
    return known;
  }

  /** An id that came late counts as long as nobody has heard of another one. */
  #adopt(call: OpenCall, id: string): void {
    call.givenId = id;
    if (!call.announced) call.id = this.#ids.take(id);
  }

  #byId(id: string | null): OpenCall | undefined {
    return id === null ? this.#calls.at(-1) : this.#byGivenId(id);
  }

  /** Some servers count the pieces where they should count the calls: an id heard before, and no name. */
  #strayPiece(delta: JsonObject, id: string | null): OpenCall | undefined {
    return id === null || nameIn(delta) !== "" ? undefined : this.#byGivenId(id);
  }

  #byGivenId(id: string): OpenCall | undefined {
    return this.#calls.findLast((call) => call.givenId === id);
  }

  #byIndex(index: string): OpenCall | undefined {
    return this.#calls.findLast((call) => call.index === index);
  }

  #open(index: string | null, id: string | null): OpenCall {
    const call = {
      id: this.#ids.take(id),
      givenId: id,
      index,
      name: "",
      pieces: [],
      scan: new BracketScan(),
      whole: null,
      extra: null,
      announced: false,
    };
    this.#calls.push(call);
    return call;
  }
}

const functionIn = (delta: JsonObject): JsonObject => (isObject(delta.function) ? delta.function : delta);

function nameIn(delta: JsonObject): string {
  const { name } = functionIn(delta);
  return typeof name === "string" ? name : "";
}

/** True for a piece without an id that can't go on with this call: it names a tool, and this one has all it needs. */
function startsAnother(call: OpenCall, delta: JsonObject, index: string | null): boolean {
  const name = nameIn(delta);
  if (name === "" || call.name === "") return false;
  if (name !== call.name && index === null) return true;
  if (call.whole !== null) return true;
  // `{}` alone may be a placeholder that the arguments proper follow.
  const isPlaceholder = name === call.name && call.pieces.length < 3 && call.pieces.join("").trim() === "{}";
  return call.scan.isWhole && !isPlaceholder;
}

function addArguments(call: OpenCall, value: Json | undefined): void {
  if (typeof value === "string") {
    call.pieces.push(value);
    call.scan.push(value);
  } else if (isObject(value)) call.whole = value;
}
