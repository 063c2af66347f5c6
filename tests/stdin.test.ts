/** Text around stdin: the labelled block, and lines out of bytes. Real pipes are in headless.stdin.test.ts. */
import { describe, expect, test } from "bun:test";
import { orAborted } from "../src/abort.ts";
import { linesOf, withStdin } from "../src/stdin.ts";
import { growth } from "./support/growth.ts";

describe("the labelled block", () => {
  test.each<[string, Parameters<typeof withStdin>[1], string]>([
    ["nothing read", null, "do it"],
    ["read and empty", { text: "", cut: false, gaveUp: false }, "do it"],
    ["a text without an end", { text: "a", cut: false, gaveUp: false }, "do it\n\n<stdin>\na\n</stdin>"],
    ["a text with one", { text: "a\n", cut: false, gaveUp: false }, "do it\n\n<stdin>\na\n</stdin>"],
    ["given up", { text: "", cut: false, gaveUp: true }, "do it\n\n[stdin was open but nothing came; it was not read]"],
  ])("%s", (_, content, text) => {
    expect(withStdin("do it", content)).toBe(text);
  });

  test("a cut is said behind the block", () => {
    expect(withStdin("do it", { text: "a", cut: true, gaveUp: false })).toMatch(
      /<\/stdin>\n\[cut: only the first \d+ bytes/,
    );
  });
});

async function lines(...pieces: (string | Uint8Array)[]): Promise<string[]> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
  }
  return Array.fromAsync(linesOf(bytes()));
}

describe("lines", () => {
  test.each<[string, string[], string[]]>([
    ["none", [], []],
    ["split anywhere", ["a", "b\nc", "\n", "d"], ["ab", "c", "d"]],
    ["CRLF, split between the two", ["a\r", "\nb\r\n"], ["a", "b"]],
    ["blank ones", ["\n\na\n"], ["", "", "a"]],
  ])("%s", async (_, pieces, expected) => {
    expect(await lines(...pieces)).toEqual(expected);
  });

  test("a character may be split over two pieces", async () => {
    const bytes = new TextEncoder().encode("é🙂\nx");
    for (let cut = 1; cut < bytes.length; cut++)
      expect(await lines(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(["é🙂", "x"]);
  });

  test("a long line in many small pieces takes time by its length, not by its square", async () => {
    const read = (count: number) => {
      const pieces = Array.from({ length: count }, () => new Uint8Array(100).fill(97));
      return async () => expect((await lines(...pieces))[0]).toHaveLength(count * 100);
    };
    expect(await growth(read, 1000)).toBeLessThan(8);
  });
});

describe("work that may never end", () => {
  test("gives its value, its error, or the reason of the abort", async () => {
    const controller = new AbortController();
    expect(await orAborted(Promise.resolve(1), controller.signal)).toBe(1);
    expect(orAborted(Promise.reject(new Error("own")), controller.signal)).rejects.toThrow("own");
    const open = orAborted(new Promise(() => {}), controller.signal);
    controller.abort(new Error("enough"));
    expect(open).rejects.toThrow("enough");
    expect(orAborted(Promise.resolve(1), controller.signal)).rejects.toThrow("enough");
  });
});
