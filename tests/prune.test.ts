/** Histories made legal: named failures first, then random ones against what each API refuses. */
import { describe, expect, test } from "bun:test";
import { Repairer, repair } from "../src/prune.ts";
import type { Message } from "../src/types.ts";
import {
  agent,
  call,
  damaged,
  healthyTranscript,
  result,
  results,
  seeded,
  thought,
  user,
} from "./support/transcripts.ts";
import { ALL_RULES, brokenRule } from "./support/wire-rules.ts";

const SEEDS = Array.from({ length: 400 }, (_, index) => index + 1);

describe("repair", () => {
  test("an interrupted call gets a stand-in and the real result beside it stays", () => {
    const real = result("t1");
    const history = [user("go"), agent(call("t1"), call("t2")), results(real), user("go on")];
    const repaired = repair(history);
    expect(brokenRule(repaired)).toBeNull();
    const answers = repaired[2];
    expect(answers?.role === "tool" && answers.results[0]).toBe(real);
    expect(answers?.role === "tool" && answers.results[1]).toMatchObject({ callId: "t2", isError: true });
  });

  test("a session that ends in an unanswered call can be resumed with the reason named", () => {
    const repaired = repair([user("go"), agent(call("t1")), user("go on")], { reason: "the program was ended" });
    expect(brokenRule(repaired)).toBeNull();
    expect(JSON.stringify(repaired[2])).toContain("the program was ended");
  });

  test("a result whose call is gone is dropped, and what shiro noted with it is not", () => {
    const orphan: Message = { ...results("lost"), notes: ["the user killed the last command"] };
    const repaired = repair([user("go"), orphan, agent("fine"), user("next")]);
    expect(JSON.stringify(repaired)).not.toContain("content of lost");
    expect(JSON.stringify(repaired)).toContain("the user killed the last command");
    expect(brokenRule(repaired)).toBeNull();
  });

  test("results in another order are put in call order", () => {
    const repaired = repair([user("go"), agent(call("a"), call("b")), results("b", "a")]);
    const answers = repaired[2];
    expect(answers?.role === "tool" && answers.results.map((item) => item.callId)).toEqual(["a", "b"]);
  });

  test("a result that comes after a typed message is brought back to its call", () => {
    const repaired = repair([user("go"), agent(call("a")), user("hurry"), results("a")]);
    expect(repaired.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(JSON.stringify(repaired[2])).toContain("content of a");
  });

  test("a result that comes after the next answer is too late: the stand-in has been sent", () => {
    const before = repair([user("go"), agent(call("a")), user("hurry")]);
    const after = repair([user("go"), agent(call("a")), user("hurry"), agent("well"), results("a")]);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(JSON.stringify(after)).not.toContain("content of a");
  });

  test("a call id used twice is renamed with its result", () => {
    const history = [user("go"), agent(call("x")), results("x"), agent(call("x")), results(result("x", "second"))];
    const repaired = repair(history);
    expect(brokenRule(repaired)).toBeNull();
    expect(repaired[4]).toEqual(results({ ...result("x", "second"), callId: "x_2" }));
  });

  test("an empty answer, a blank prompt and reasoning alone leave no message behind", () => {
    const history = [
      user("go"),
      agent(),
      user("  "),
      agent(thought("hm")),
      user("again"),
      agent("\n\n", call("a")),
      results("a"),
    ];
    const repaired = repair(history);
    expect(repaired).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "go" },
          { type: "text", text: "again" },
        ],
      },
      agent(call("a")),
      results("a"),
    ]);
  });

  test("a request after an answer ends with a short user message and the answer is kept", () => {
    const repaired = repair([user("go"), agent("half an ans ")]);
    expect(repaired.at(-1)).toMatchObject({ role: "user", content: [{ injected: true }] });
    expect(repaired[1]).toEqual(agent("half an ans "));
  });

  test("going on after an answer sends what was sent before, then the new answer", () => {
    const sent = repair([user("go"), agent("half")]);
    const later = repair([user("go"), agent("half"), agent("other half"), user("thanks")]);
    expect(later.slice(0, sent.length)).toEqual(sent);
  });

  test("a prompt whose turn failed is joined with the next one, in order", () => {
    const repaired = repair([user("first"), user("second"), user("third")]);
    expect(repaired).toHaveLength(1);
    expect(JSON.stringify(repaired)).toMatch(/first.*second.*third/);
  });

  test("a history that needs nothing keeps its messages as they are", () => {
    const history = healthyTranscript(seeded(7), 12).slice(0, -1);
    const legal = history.at(-1)?.role === "assistant" ? [...history, user("on")] : history;
    const repaired = repair(legal);
    expect(repaired).toHaveLength(legal.length);
    for (const [index, message] of repaired.entries()) expect(message === legal[index]).toBe(true);
  });

  test("no messages stay no messages", () => {
    expect(repair([])).toEqual([]);
  });

  test.each(ALL_RULES)("random broken histories satisfy %s", (_, rule) => {
    for (const seed of SEEDS) {
      const random = seeded(seed);
      const repaired = repair(damaged(healthyTranscript(random, 6), random));
      expect({ seed, broken: rule(repaired) }).toEqual({ seed, broken: null });
    }
  });

  test("the rules used here do find fault with the broken histories themselves", () => {
    const faulty = SEEDS.filter((seed) => {
      const random = seeded(seed);
      return brokenRule(damaged(healthyTranscript(random, 6), random)) !== null;
    });
    expect(faulty.length).toBeGreaterThan(SEEDS.length / 2);
  });

  test("a history repaired as it grows is the one repaired at once, and what was handed out stays as it was", () => {
    for (const seed of SEEDS.slice(0, 100)) {
      const random = seeded(seed);
      const whole = damaged(healthyTranscript(random, 6), random);
      const [repairer, handedOut] = [new Repairer(), [] as { list: Message[]; text: string }[]];
      for (const [at, message] of whole.entries()) {
        repairer.push(message);
        const list = repairer.messages();
        expect({ seed, at, list }).toEqual({ seed, at, list: repair(whole.slice(0, at + 1)) });
        handedOut.push({ list, text: JSON.stringify(list) });
      }
      expect(handedOut.map(({ list }) => JSON.stringify(list))).toEqual(handedOut.map(({ text }) => text));
    }
  });

  test("repairing twice changes nothing more", () => {
    for (const seed of SEEDS) {
      const random = seeded(seed);
      const once = repair(damaged(healthyTranscript(random, 6), random));
      expect(repair(once)).toEqual(once);
    }
  });

  test("everything the user and the agent said survives a repair", () => {
    for (const seed of SEEDS.slice(0, 100)) {
      const random = seeded(seed);
      const broken = damaged(healthyTranscript(random, 6), random);
      expect(saidIn(repair(broken)).filter((text) => !/^Continue/.test(text))).toEqual(saidIn(broken));
    }
  });

  test("requests of a growing session only grow at the end", () => {
    for (const seed of SEEDS.slice(0, 60)) {
      const random = seeded(seed);
      const whole = damaged(healthyTranscript(random, 5), random);
      for (let count = 1; count < whole.length; count++) {
        // A request is sent when the next thing that happens is an answer.
        if (whole[count]?.role !== "assistant") continue;
        const sent = repair(whole.slice(0, count));
        const usable = repair(whole.slice(0, count + 1)).length > sent.length;
        if (usable) expect(repair(whole).slice(0, sent.length)).toEqual(sent);
      }
    }
  });
});

/** Texts of users and agents in order, injected ones and blanks left out. */
function saidIn(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === "tool") return [];
    return message.content.flatMap((part) => {
      const said = part.type === "text" && part.text.trim() !== "" && !("injected" in part);
      return said ? [part.text] : [];
    });
  });
}
