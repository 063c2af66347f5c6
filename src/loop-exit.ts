/** How a turn's end looks from outside: its error event and its exit code. */
import { EXIT, type ProviderError } from "./errors.ts";
import type { AgentEvent, DoneReason } from "./types.ts";

/** The event of a failed model call. */
export function errorEvent(error: ProviderError): AgentEvent {
  const message = error.hint ? `${error.message} (${error.hint})` : error.message;
  return {
    type: "error",
    kind: error.kind,
    message,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
  };
}

/** Exit code of a turn that ended for this reason. */
export function exitOf(reason: DoneReason): number {
  switch (reason) {
    case "completed":
      return EXIT.done;
    case "interrupted":
      return EXIT.sigint;
    case "timeout":
      return EXIT.timeout;
    case "ceiling":
    case "steps":
    case "partial":
      return EXIT.ceiling;
    case "denied":
      return EXIT.denied;
    case "schema":
      return EXIT.schema;
    case "error":
      return EXIT.provider;
    default:
      return reason satisfies never;
  }
}

/** Exit code of a failed model call: credentials and money 3, an unknown model 2, everything else 4. */
export function exitOfError(error: ProviderError): number {
  if (error.kind === "auth" || error.kind === "quota") return EXIT.credentials;
  if (error.code === "model_not_found") return EXIT.usage;
  return EXIT.provider;
}
