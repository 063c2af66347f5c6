/** How long to wait, in every form a provider says it. */
import { expect, test } from "bun:test";
import { retryAfterOf } from "../src/retry-after.ts";

const NOW = Date.UTC(2026, 10, 30, 12, 0, 0);
const at = (ms: number) => new Date(NOW + ms).toUTCString();

test.each<[string, Record<string, string>, string, number | undefined]>([
  ["seconds", { "retry-after": "3" }, "", 3000],
  ["parts of a second", { "retry-after": "0.5" }, "", 500],
  ["none at all", { "retry-after": "0" }, "", 0],
  ["milliseconds, which are finer", { "retry-after-ms": "1500", "retry-after": "9" }, "", 1500],
  ["a date", { "retry-after": at(4000) }, "", 4000],
  ["a date that has passed", { "retry-after": at(-4000) }, "", 0],
  ["a date, by a server whose clock is an hour ahead", { "retry-after": at(3_604_000), date: at(3_600_000) }, "", 4000],
  ["a date beside a clock that is none", { "retry-after": at(4000), date: "soon" }, "", 4000],
  ["a word that is no time", { "retry-after": "later" }, "", undefined],
  ["words only", {}, "Rate limit reached. Please try again in 1m2.5s.", 62_500],
  ["Gemini's field", {}, '{"retryDelay": "33s"}', 33_000],
  ["milliseconds in words", {}, "try again in 250ms", 250],
  ["hours and minutes", {}, "Please retry after 1 hour and 5 minutes", 3_900_000],
  ["nothing", {}, "Rate limit reached", undefined],
])("%s", (_, headers, text, ms) => {
  expect(retryAfterOf(new Headers(headers), text, NOW)).toBe(ms);
});
