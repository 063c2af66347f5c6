/** A server's tool as a tool of its own in the array. Knows no transport; whether it is offered this way is mcp-offer.ts. */
import * as v from "valibot";
import type { NamedTool } from "./mcp-names.ts";
import { argumentsText, checkArguments, type McpReach } from "./mcp-reach.ts";
import type { McpTool } from "./mcp-types.ts";
import { sanitize } from "./sanitize.ts";
import { cutHead } from "./text.ts";
import { defineTool, type Tool } from "./tool.ts";
import type { JsonObject } from "./types.ts";

/** Every request carries it; servers that put their manual here are cut. */
const MAX_DESCRIPTION = 2_000;

/** Always asks where no rule speaks: what a server says of itself allows nothing. */
export function directTool(named: NamedTool, reach: McpReach): Tool {
  const { tool, name, subject } = named;
  return defineTool({
    name,
    description: descriptionOf(tool),
    set: "session",
    input: argumentsOf(tool),
    wireSchema: tool.inputSchema,
    mutates: !tool.readOnly,
    permission: "ask",
    subjects: () => [{ kind: "text", text: subject }],
    details: argumentsText,
    concurrencySafe: () => tool.readOnly,
    run: (args, context) => reach.call(named, args, context),
  });
}

function descriptionOf(tool: McpTool): string {
  const text = sanitize(tool.description).trim();
  return text === "" ? `${tool.name} of the MCP server ${tool.server}` : cutHead(text, MAX_DESCRIPTION).text;
}

/** The door for arguments: valibot's form over the server's JSON Schema. */
function argumentsOf(tool: McpTool) {
  return v.pipe(
    v.looseObject({}),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const given = dataset.value as JsonObject; // a model's arguments were parsed from JSON
      const checked = checkArguments(tool, given);
      if ("args" in checked) return checked.args;
      addIssue({ message: checked.fault });
      return NEVER;
    }),
  );
}
