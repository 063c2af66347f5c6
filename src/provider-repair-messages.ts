/** Repairs of a body's messages: roles an endpoint doesn't know, and content in a form it doesn't take. Pure. */
import { isObject } from "./provider-errors.ts";
import { isBareCall, type Repair } from "./provider-repair-apply.ts";
import type { Complaint } from "./provider-repair-complaint.ts";
import type { Json, JsonObject } from "./types.ts";

export function roleRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const first = Array.isArray(body.messages) ? body.messages[0] : undefined;
  if (!isObject(first) || !/role|developer|system message/i.test(complaint.text)) return null;
  if (first.role === "developer" && complaint.names("developer"))
    return { kind: "role", from: "developer", to: "system" };
  // Models without a place for instructions of their own (Gemma) take them at the head of the user's first message.
  if (/system role not supported|(developer|system) instruction is not enabled/i.test(complaint.text))
    return { kind: "fold" };
  const refusesSystem =
    /['"`]?system['"`]?[^.]{0,40}(not support|unsupported|not allowed)|(not support|unsupported)[^.]{0,60}['"`]system['"`]/i.test(
      complaint.text,
    );
  return first.role === "system" && refusesSystem ? { kind: "role", from: "system", to: "developer" } : null;
}

/** `content` of assistant messages that hold nothing but calls: some want null, some a text. */
export function contentRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const now = bareCallContent(body);
  if (now === undefined) return null;
  if (
    now === null &&
    /content[^.]{0,80}(nil|null|none|type|string|required|missing)|(nil|null|none)[^.]{0,40}content|missing field `?content/i.test(
      complaint.text,
    )
  )
    return { kind: "content", to: "" };
  if (
    now === "" &&
    /(non-?empty|empty|non-?whitespace|blank|min(imum)? ?length)/i.test(complaint.text) &&
    /content|text|parts/i.test(complaint.text)
  )
    return { kind: "content", to: null };
  return null;
}

function bareCallContent(body: JsonObject): Json | undefined {
  const messages = Array.isArray(body.messages) ? body.messages : [];
  const bare = messages.find((message) => isObject(message) && isBareCall(message));
  return isObject(bare) ? bare.content : undefined;
}

/** Content as a list of parts, where only a text is taken. */
export function plainRepair(complaint: Complaint, body: JsonObject): Repair | null {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isObject) : [];
  if (!messages.some((message) => Array.isArray(message.content))) return null;
  const wantsText =
    /content[^]{0,80}must be a string|content[^]{0,60}(expected|valid) (a )?string|expected (a )?string[^]{0,40}(sequence|array|list)|sequence, expected a string/i;
  return body.system === undefined && wantsText.test(complaint.text) ? { kind: "plain" } : null;
}
