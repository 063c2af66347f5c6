/** Which kind of failure an error body speaks of, in every provider's own words. Pure tables; builds no errors. */
import type { ProviderError, ProviderErrorKind } from "./errors.ts";

/** The parts of an error body, wherever the provider put them. */
export interface Payload {
  message: string;
  code: string;
  type: string;
  parameter: string | undefined;
  text: string;
}

// Order matters: a 429 may mean an empty account, a 400 a wrong key, a 500 a full context.
export function kindOf(payload: Payload, status: number | undefined): ProviderErrorKind {
  if (isQuota(payload, status)) return "quota";
  if (isContext(payload, status)) return "context";
  if (isAuth(payload, status)) return "auth";
  if (payload.code === "tool_use_failed") return "server";
  if (isShape(payload, status)) return "shape";
  const named = kindOfName(payload.code) ?? kindOfName(payload.type);
  if (status === undefined) return named ?? (looksOverloaded(payload.message) ? "rate" : "server");
  return kindOfStatus(status) ?? (named === "rate" ? named : "request");
}

export function kindOfStatus(status: number): ProviderErrorKind | undefined {
  if (status === 401 || status === 403) return "auth";
  if (status === 402) return "quota";
  if (status === 429 || status === 529) return "rate";
  if (status === 501) return "shape";
  if (status === 408 || status === 409 || status === 425 || status >= 500) return "server";
  return undefined;
}

function kindOfName(name: string): ProviderErrorKind | undefined {
  if (
    /^(overloaded_error|rate_limit|rate_limited|too_many_requests|resource_exhausted|engine_overloaded)/i.test(name)
  ) {
    return "rate";
  }
  if (
    /^(api_error|server_error|internal|timeout_error|unavailable|service_unavailable|bad_gateway|vector_store_timeout)/i.test(
      name,
    )
  ) {
    return "server";
  }
  if (/^(authentication_error|permission_error|invalid_api_key|unauthenticated|permission_denied)/i.test(name)) {
    return "auth";
  }
  return /^(invalid_request|not_found_error|invalid_prompt|model_not_found|invalid_argument|invalid_image)/i.test(name)
    ? "request"
    : undefined;
}

const looksOverloaded = (message: string) => /overloaded|rate limit|too many requests/i.test(message);

const QUOTA_CODES =
  /^(insufficient_quota|insufficient_balance|insufficient_credits|exceeded_current_quota_error|budget_exceeded|billing_error|billing_hard_limit_reached|billing_not_active|credit_limit_reached|payment_required)$/;
const QUOTA_WORDS =
  /credit balance is too low|insufficient (balance|credits?|funds|quota)|not enough credits|out of credits|used all available credits|exceeded your current quota|requires? more credits|spending limit|key limit exceeded|budget has been exceeded|specified api usage limits|in arrears|余额不足|欠费/i;

function isQuota(payload: Payload, status: number | undefined): boolean {
  if (status === 402 || QUOTA_CODES.test(payload.code) || QUOTA_CODES.test(payload.type)) return true;
  // Gemini says "quota" for limits per minute too, and then tells when to come back.
  if (/rate_limit/.test(payload.code) || /retryDelay|per minute|retry in \d/i.test(payload.text)) return false;
  return (status === undefined || status < 500) && QUOTA_WORDS.test(payload.message);
}

const CONTEXT_CODES =
  /^(context_length_exceeded|context_window_exceeded|model_context_window_exceeded|exceed_context_size_error|request_too_large|model_max_prompt_tokens_exceeded)$/;
const CONTEXT_WORDS = [
  /prompt is too long/i,
  /input length and `?max_tokens`? exceed context limit/i,
  /maximum (context|prompt|sequence) length/i,
  /maximum allowed (context|input) length/i,
  // A full stop inside a model's name or a number doesn't end the sentence.
  /(exceed|longer|greater|larger|over|beyond|too large|too long|overflow)(?:[^.]|\.(?=\S)){0,80}context (length|window|size|limit)/i,
  /context (length|window|size|limit)(?:[^.]|\.(?=\S)){0,60}(exceed|overflow|too small|full)/i,
  /contextwindowexceeded|model token limit|prompt exceeds max length|longer than the maximum model length/i,
  /range of input length should be|`inputs` tokens \+ `max_new_tokens`/i,
  /\b(prompt|input)\b[^.]{0,60}exceeds? (the )?(limit|max)|too many tokens:[^.]{0,40}exceeds/i,
  /input token count[^.]{0,60}exceeds/i,
  /input (is|was) too long for (the )?(requested )?model/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /prompt contains \d+ tokens[^.]{0,60}too large/i,
  /tokens? to keep from the initial prompt is greater than/i,
  /total (number of )?tokens[^.]{0,40}exceeds? (the )?(model|max)/i,
  /the prompt is too (long|large)/i,
  /context the overflows|context length of only/i,
];

function isContext(payload: Payload, status: number | undefined): boolean {
  if (status === 401 || status === 403) return false;
  if (status === 429) return isOverMinute(payload.message);
  if (CONTEXT_CODES.test(payload.code) || CONTEXT_CODES.test(payload.type) || status === 413) return true;
  if (payload.parameter === "max_tokens" && /completion tokens/i.test(payload.message)) return false;
  // One text over the size of a message; names and ids have limits too, but small ones.
  if (payload.code === "string_above_max_length") return Number(/length (\d+)/.exec(payload.message)?.[1]) >= 100_000;
  return CONTEXT_WORDS.some((words) => words.test(payload.message));
}

/** "Request too large … Limit 30000, Requested 45000": more than a whole minute's tokens never fits, however long one waits. */
function isOverMinute(message: string): boolean {
  const found = /too large[^]*limit:? (\d+)[^]*requested:? (\d+)/i.exec(message);
  return found !== null && Number(found[2]) > Number(found[1]);
}

function isAuth(payload: Payload, status: number | undefined): boolean {
  if (status === 401 || status === 403) return true;
  if (status !== undefined && status !== 400) return false;
  return /incorrect api key|invalid api key|api key not valid|api_key_invalid|missing api key|no api key/i.test(
    `${payload.message} ${payload.text.slice(0, 2000)}`,
  );
}

function isShape(payload: Payload, status: number | undefined): boolean {
  if (status !== undefined && ![400, 404, 405, 415, 422, 501].includes(status)) return false;
  if (/v1\/responses|responses api/i.test(payload.message) && !/moved to 'input'/.test(payload.message)) return true;
  return (status === 404 || status === 405 || status === 415 || status === 501) && !isUnknownModel(payload);
}

export const UNKNOWN_MODEL = "model_not_found";
const UNKNOWN_MODEL_WORDS = [
  /\bmodels?\b(?:[^.]|\.(?=\S)){0,160}?\b(does not exist|not found|not exist|is not available)/i,
  /\b(no such|unknown|invalid|unsupported) model\b|no endpoints found|not found the model|模型不存在/i,
  /is not a valid model|model identifier is invalid|api deployment for this resource does not exist/i,
];

export function isUnknownModel(payload: Payload): boolean {
  // Anthropic's type for a path that isn't there, too: then that is all it says.
  if (payload.type === "not_found_error" && /^not.?found\.?$/i.test(payload.message)) return false;
  if (/model_not_found|not_found_error|DeploymentNotFound/.test(payload.code + payload.type)) return true;
  return UNKNOWN_MODEL_WORDS.some((words) => words.test(payload.message));
}

/** True for "there is no such model": no other wire will know it either. */
export function isModelUnknown(error: ProviderError): boolean {
  return isUnknownModel({ message: error.message, code: error.code ?? "", type: "", parameter: undefined, text: "" });
}
