/** Bytes of a stdio server: lines, messages, noise, the log. */
import { describe, expect, test } from "bun:test";
import { LineSplitter, LOG_CHARS, LogTail, messagesIn, skippedAnswer } from "../src/mcp-lines.ts";
import { growth } from "./support/growth.ts";

describe("lines", () => {
  test("come out whole however they are cut, with CR LF and characters of several bytes", () => {
    const bytes = new TextEncoder().encode('{"a":"ü€😀"}\r\n\nx\nlast');
    for (let size = 1; size <= bytes.length; size++) {
      const lines: string[] = [];
      const splitter = new LineSplitter((line) => void lines.push(line));
      for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.slice(at, at + size));
      splitter.end();
      expect(lines).toEqual(['{"a":"ü€😀"}', "", "x", "last"]);
    }
  });

  test("longer than the limit are skipped with a note, the next one is whole", () => {
    const lines: [string, string | null][] = [];
    const splitter = new LineSplitter((...line) => void lines.push(line), 10);
    for (const piece of ["aaaaaa", "bbbbbb", "ccc\nnext\n"]) splitter.push(new TextEncoder().encode(piece));
    expect(lines).toEqual([
      ["(a line of 15 bytes, longer than 10, was skipped)", "aaaaaabbbbbbccc"],
      ["next", null],
    ]);
  });

  test.each<[head: string, id: unknown]>([
    ['{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te', 7],
    ['{ "id" : "a1" , "error" : {"message":"x', "a1"],
    ['{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{', null],
    ['{"jsonrpc":"2.0","result":{"id":7,"result":"', null],
    ["INFO ".repeat(30), null],
  ])("that are skipped fail the request they answer: %s", (head, id) => {
    const answer = skippedAnswer(head);
    const answered: unknown = answer && "error" in answer ? answer.id : null;
    expect(answered).toBe(id);
  });

  test("in many small pieces cost time that grows with their length only", async () => {
    const piece = new Uint8Array(16).fill(97);
    const read = (size: number) => () => {
      const splitter = new LineSplitter(() => {});
      for (let at = 0; at < size; at++) splitter.push(piece);
      splitter.push(new Uint8Array([10]));
    };
    expect(await growth(read, 2000)).toBeLessThan(8);
  });

  test.each<[line: string, count: number]>([
    ['{"jsonrpc":"2.0","id":1,"result":{}}', 1],
    ['  {"jsonrpc":"2.0","method":"x"}', 1],
    ['[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":1,"error":{}},3]', 2],
    ['{"level":"info","msg":"ready"}', 0],
    ['{"jsonrpc":"1.0","method":"x"}', 0],
    ['{"jsonrpc":"2.0","id":1}', 0],
    ["INFO Starting server...", 0],
    ['{"jsonrpc":"2.0"', 0],
    ["", 0],
  ])("%s holds %i messages", (line, count) => expect(messagesIn(line)).toHaveLength(count));

  test("of a log are kept up to 64 KB, the newest", () => {
    const log = new LogTail();
    for (let line = 0; line < 30_000; line++) log.push(`line ${line}\n`);
    expect(log.text()).toHaveLength(LOG_CHARS);
    expect(log.text()).toEndWith("line 29999\n");
    expect(log.lastLine()).toBe("line 29999");
  });
});
