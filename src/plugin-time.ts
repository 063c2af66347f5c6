/** The time plugin: one tool that says what time it is. */
import * as v from "valibot";
import type { Plugin } from "./plugin.ts";
import { defineTool } from "./tool.ts";

export interface Clock {
  now(): Date;
  /** IANA name; undefined takes the machine's. */
  timeZone?: string;
}

export function makeTime(clock: Clock): Plugin {
  const tool = defineTool({
    name: "current_time",
    description: "The current date and time, as ISO 8601 with offset and in words.",
    set: "session",
    input: v.object({}),
    mutates: false,
    permission: "allow",
    repeatable: true,
    subjects: () => [],
    concurrencySafe: () => true,
    run: async () => ({ text: describeTime(clock.now(), clock.timeZone) }),
  });
  return { name: "time", description: "the current_time tool", tools: [tool], autoApprove: [tool.name] };
}

/** `2026-03-01T09:05:00+01:00` and the same in words, on two lines. */
export function describeTime(date: Date, timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone): string {
  const part = partsOf(date, timeZone);
  const iso = `${part("year")}-${part("month")}-${part("day")}T${part("hour")}:${part("minute")}:${part("second")}${offsetOf(date, timeZone)}`;
  const words = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "short", timeZone }).format(date);
  return `${iso}\n${words} (${timeZone})`;
}

function partsOf(date: Date, timeZone: string): (type: Intl.DateTimeFormatPartTypes) => string {
  const format = new Intl.DateTimeFormat("en-GB", {
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" },
    hourCycle: "h23",
    timeZone,
  });
  const parts = format.formatToParts(date);
  return (type) => parts.find((part) => part.type === type)?.value ?? "";
}

function offsetOf(date: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone, timeZoneName: "longOffset" }).formatToParts(date);
  const name = parts.find((part) => part.type === "timeZoneName")?.value ?? "GMT";
  return name.replace("GMT", "") || "+00:00";
}
