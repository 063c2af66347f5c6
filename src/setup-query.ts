/** What a set-up is asked for, and what it wants said. Types only. */
import type { Options } from "./args-options.ts";

export interface Notice {
  level: "info" | "warning";
  message: string;
}

export interface SetupQuery {
  options: Options;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Somebody can answer questions. */
  interactive: boolean;
  /** Nobody reads along, even if a program answers: what one would only be told of is refused. */
  headless?: true;
  /** Things that turn up later: saving fails, a copy was made. */
  onNotice(notice: Notice): void;
}
