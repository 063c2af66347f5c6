/** Four tools that stand for all tools of all lazily exposed servers: search, list, inspect, call. Their schemas are the whole price of such servers in a request. */
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { listServers, listTools, schemaText, searchResult } from "./mcp-text.ts";
import { argumentsText, checkArguments, type McpReach } from "./mcp-reach.ts";
import { MCP_META_TOOLS } from "./mcp-types.ts";
import { defineTool, type Tool, type ToolSpec } from "./tool.ts";
import type { Json, JsonObject } from "./types.ts";

/** In wire order. `reach` is asked at each call: servers come and go. */
export function metaTools(reach: () => McpReach): Tool[] {
  return [toolSearch(reach), mcpList(reach), mcpInspect(reach), mcpCall(reach)];
}

/** The same for rules alone: they can be judged and not run, and need no server. */
export function judgedMetaTools(): Tool[] {
  return metaTools(() => {
    throw new Error("A call was made where one was only to be judged.");
  });
}

/** Looking changes nothing and asks nobody. */
const LOOKING = {
  set: "session",
  mutates: false,
  permission: "allow",
  concurrencySafe: () => true,
} as const satisfies Partial<ToolSpec<v.GenericSchema>>;

function toolSearch(reach: () => McpReach): Tool {
  return defineTool({
    ...LOOKING,
    name: MCP_META_TOOLS.search,
    unlimited: true,
    description: "Find tools of MCP servers by words, or `select:a,b` by name. Gives their schemas for mcp_call.",
    input: v.object({ query: v.string() }),
    subjects: ({ query }) => [{ kind: "text", text: query }],
    async run({ query }, context) {
      const own = reach();
      await own.settle(null, context.signal);
      return { text: searchResult(own.index().search(query), own.states()) };
    },
  });
}

function mcpList(reach: () => McpReach): Tool {
  return defineTool({
    ...LOOKING,
    name: MCP_META_TOOLS.list,
    description: "List MCP servers, or one server's tools.",
    input: v.object({ server: v.optional(v.string()) }),
    subjects: ({ server }) => [{ kind: "text", text: server ?? "" }],
    async run({ server }, context) {
      const own = reach();
      await own.settle(server ?? null, context.signal);
      if (server === undefined) return { text: listServers(own.states()) };
      const state = own.state(server);
      if (!state) throw new ToolError(own.problem(server, null) ?? "", { category: "validation error" });
      return { text: listTools(state) };
    },
  });
}

function mcpInspect(reach: () => McpReach): Tool {
  return defineTool({
    ...LOOKING,
    name: MCP_META_TOOLS.inspect,
    description: "Show one MCP tool's description and schema.",
    input: v.object({ server: v.string(), tool: v.string() }),
    subjects: ({ server, tool }) => [{ kind: "text", text: `${server}/${tool}` }],
    async run({ server, tool }, context) {
      const own = reach();
      const problem = own.problem(server, tool);
      if (problem !== null) throw new ToolError(problem, { category: "validation error" });
      return { text: schemaText(await own.reachable(server, tool, context.signal)) };
    },
  });
}

function mcpCall(reach: () => McpReach): Tool {
  return defineTool({
    name: MCP_META_TOOLS.call,
    description: "Call an MCP tool; `arguments` as its schema says.",
    set: "session",
    input: callInput(reach),
    wireSchema: {
      type: "object",
      properties: { server: { type: "string" }, tool: { type: "string" }, arguments: { type: "object" } },
      required: ["server", "tool"],
    },
    mutates: true,
    permission: "ask",
    subjects: ({ subject }) => [{ kind: "text", text: subject }],
    details: (input) => argumentsText(input.arguments),
    concurrencySafe: ({ server, tool }) => reach().find(server, tool)?.tool.readOnly === true,
    async run(input, context) {
      const own = reach();
      const named = await own.reachable(input.server, input.tool, context.signal);
      // What was judged is what runs: a name that a server gives its tool only now may be one that a rule denies.
      if (named.subject !== input.subject) throw new ToolError(otherName(named.subject, input.subject));
      // The server may have come up, or changed its list, since the arguments were looked at.
      const checked = checkArguments(named.tool, input.arguments);
      if ("fault" in checked) throw new ToolError(faultText(checked.fault), { category: "validation error" });
      return own.call(named, checked.args, context);
    },
  });
}

function otherName(now: string, judged: string): string {
  return `Not executed: it was judged as ${judged}, but since its server answered it goes by ${now}. Make the call again.`;
}

/** Arguments are checked before anybody is asked, as far as the tool is known by then; so is the name that rules match. */
function callInput(reach: () => McpReach) {
  return v.pipe(
    v.object({ server: v.string(), tool: v.string(), arguments: v.optional(v.any()) }),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const { server, tool, arguments: raw } = dataset.value;
      const given = argumentsOf(raw as Json | undefined); // a model's arguments were parsed from JSON
      const problem = given === null ? '"arguments" must be an object' : reach().problem(server, tool);
      if (problem !== null || given === null) return fail(problem ?? "");
      const named = reach().find(server, tool);
      const checked = named ? checkArguments(named.tool, given) : { args: given };
      const subject = reach().subject(server, tool);
      return "args" in checked ? { server, tool, arguments: checked.args, subject } : fail(faultText(checked.fault));

      function fail(message: string): typeof NEVER {
        addIssue({ message });
        return NEVER;
      }
    }),
  );
}

const faultText = (fault: string): string => `${fault} (mcp_inspect shows the schema)`;

/** Models leave them out, send null, or write the object as a string. */
function argumentsOf(raw: Json | undefined): JsonObject | null {
  if (raw === undefined || raw === null || raw === "") return {};
  const value = typeof raw === "string" ? parsed(raw) : raw;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives nothing else
  } catch {
    return text; // said to be no object
  }
}
