/** Turns a tool's name and one text into what the gate judges: the subject a call with that text would have. */
import type { Candidate } from "./approval-judge.ts";
import type { Subject, Tool } from "./tool.ts";

/** A candidate for a tool and one subject as a person types it: the command, the path, the address. */
export function explainCandidate(name: string, tool: Tool | null, text: string): Candidate {
  return { name, tool, input: undefined, subjects: [tool ? subjectFor(tool, text) : { kind: "text", text }] };
}

/** The tool itself says what its subject is, given an input in which every usual field holds the text. */
function subjectFor(tool: Tool, text: string): Subject {
  const subjects = probe(tool, text);
  const [first] = subjects;
  if (!first) return { kind: "text", text };
  switch (first.kind) {
    case "command":
      return { kind: "command", command: text };
    case "path":
      return { kind: "path", path: text, access: first.access };
    case "text":
      return { kind: "text", text };
    default:
      return first satisfies never;
  }
}

function probe(tool: Tool, text: string): Subject[] {
  try {
    return tool.subjects(probeInput(text));
  } catch {
    // Its input looks different: the text itself is the subject.
    return [];
  }
}

function probeInput(text: string): Record<string, unknown> {
  const single = [
    "command",
    "path",
    "pattern",
    "url",
    "ref",
    "description",
    "name",
    "kind",
    "prompt",
    "query",
    "text",
    "server",
    "tool",
  ];
  return {
    ...Object.fromEntries(single.map((field) => [field, text])),
    files: [{ path: text }],
    edits: [],
    paths: [text],
    patch: `*** Begin Patch\n*** Delete File: ${text}\n*** End Patch\n`,
    tasks: [{ description: text, prompt: text, kind: "explore" }],
  };
}
