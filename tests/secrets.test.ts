import { describe, expect, test } from "bun:test";
import {
  findCredential,
  hiddenVariables,
  makeRedactor,
  REDACTED,
  withoutVariables,
  CREDENTIAL_SHAPES,
} from "../src/redact.ts";
import { isCredentialName, isPrivateHomePath } from "../src/secrets.ts";

describe("redaction", () => {
  test("every occurrence of a key is masked, wherever it stands", () => {
    const { redact } = makeRedactor(["canary-12345"]);
    expect(redact("a=canary-12345;canary-12345\n")).toBe(`a=${REDACTED};${REDACTED}\n`);
  });

  test("a key inside a longer one leaves no tail behind", () => {
    const { redact } = makeRedactor(["secret-key", "secret-key-and-more"]);
    expect(redact("secret-key-and-more secret-key")).toBe(`${REDACTED} ${REDACTED}`);
  });

  test("short values are left alone: they turn up in ordinary text", () => {
    expect(makeRedactor(["test", "1234567"]).redact("a test 1234567")).toBe("a test 1234567");
    expect(makeRedactor(["12345678"]).redact("12345678")).toBe(REDACTED);
  });

  test("keys are text, not patterns", () => {
    expect(makeRedactor(["a.c*d$&^x"]).redact("a.c*d$&^x abcd")).toBe(`${REDACTED} abcd`);
  });

  test("a key learned later is masked from then on", () => {
    const redactor = makeRedactor([]);
    redactor.add("later-key-1");
    expect(redactor.redact("later-key-1")).toBe(REDACTED);
  });
});

describe("keys in text that comes in pieces", () => {
  const KEY = "sk-live-0123456789";

  test("a key cut anywhere is masked, and nothing else is lost or delayed for long", () => {
    const whole = `a ${KEY} sk-live- b ${KEY}${KEY} sk-`;
    const masked = makeRedactor([KEY]).redact(whole);
    for (let first = 0; first <= whole.length; first++)
      for (const second of [first, first + 1, first + 7, whole.length]) {
        const stream = makeRedactor([KEY]).stream();
        const pieces = [whole.slice(0, first), whole.slice(first, second), whole.slice(second)];
        const shown = pieces.map((piece) => stream.push(piece));
        expect(shown.join("")).not.toContain(KEY);
        expect(shown.join("") + stream.end()).toBe(masked);
        expect(masked.length - shown.join("").length).toBeLessThan(KEY.length);
      }
  });

  test("text that begins no key passes at once; a held beginning comes at the end", () => {
    const stream = makeRedactor([KEY]).stream();
    expect([
      stream.push("plain\n"),
      stream.push("ask-"),
      stream.push("sk-li"),
      stream.push("ke"),
      stream.end(),
    ]).toEqual(["plain\n", "ask-".slice(0, 1), "sk-", "sk-like", ""]);
    expect(stream.push("sk-live") + stream.end()).toBe("sk-live");
  });

  test("one character at a time", () => {
    const stream = makeRedactor([KEY, "other-key-8"]).stream();
    const shown = [...`<${KEY}|other-key-8>`].map((char) => stream.push(char)).join("") + stream.end();
    expect(shown).toBe(`<${REDACTED}|${REDACTED}>`);
  });
});

test("children get the environment less the keys, unless the user hands them through", () => {
  const hidden = hiddenVariables(["GROQ_API_KEY", "OPENAI_API_KEY"], ["OPENAI_API_KEY"]);
  expect(hidden.sort()).toEqual(["ANTHROPIC_API_KEY", "GROQ_API_KEY", "SHIRO_API_KEY"]);
  const env = { PATH: "/bin", GROQ_API_KEY: "x", OPENAI_API_KEY: "y", SHIRO_API_KEY: "z", EMPTY: undefined };
  expect(withoutVariables(env, hidden)).toEqual({ PATH: "/bin", OPENAI_API_KEY: "y" });
});

const RANDOM = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2dE3fG4hJ5kL6mN7pQ8rS9tU0vW1xY2zA3bC4dE5fG6hJ7k";

describe("credentials by their shape", () => {
  test.each([
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJ", "a private key"],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA", "a private key"],
    ["AKIAQ3EGRZJ5XN7VBT2M", "an AWS access key"],
    [`ghp_${RANDOM.slice(0, 36)}`, "a GitHub token"],
    [`github_pat_${RANDOM.slice(0, 50)}`, "a GitHub token"],
    [`glpat-${RANDOM.slice(0, 20)}`, "a GitLab token"],
    [`sk-ant-api03-${RANDOM.slice(0, 40)}`, "an Anthropic key"],
    [`sk-proj-${RANDOM.slice(0, 48)}`, "an OpenAI key"],
    [`xoxb-${RANDOM.slice(0, 30)}`, "a Slack token"],
    [`sk_live_${RANDOM.slice(0, 24)}`, "a Stripe live key"],
    [`AIza${RANDOM.slice(0, 35)}`, "a Google API key"],
    [`npm_${RANDOM.slice(0, 36)}`, "an npm token"],
    [`hf_${RANDOM.slice(0, 34)}`, "a Hugging Face token"],
  ])("%s", (text, what) => {
    expect(findCredential(`const x = "${text}";`)).toBe(what);
    const shapes = CREDENTIAL_SHAPES.filter((shape) => shape.what !== what);
    expect(findCredential(text, shapes)).not.toBe(what);
  });

  test.each([
    [`ghp_${"x".repeat(36)}`],
    ["AKIAAAAAAAAAAAAAAAAA"],
    ["sk-your-key-here"],
    ["sk-ant-..."],
    ["-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ"],
    ["-----BEGIN PRIVATE KEY----- is how such a file begins"],
    ["task-management-and-other-long-kebab-case-names-everywhere"],
    ["export GITHUB_TOKEN=$TOKEN"],
    ["sha512-abcdefghijklmnopqrstuvwxyz"],
  ])("not %s", (text) => expect(findCredential(text)).toBeNull());
});

test.each([
  ["GITHUB_TOKEN", true],
  ["dbPassword", true],
  ["AWS_SECRET_ACCESS_KEY", true],
  ["apiKey", true],
  ["X_API_KEY", true],
  ["client-secret", true],
  ["PATH", false],
  ["KEYBOARD", false],
  ["tokenizer", false],
  ["monkey", false],
])("%s names a credential: %p", (name, expected) => expect(isCredentialName(name)).toBe(expected));

test.each([
  ["config.json", true],
  ["sessions/x.json", true],
  ["trust.json", true],
  ["", true],
  ["skills/x.md", false],
  ["spill/s/1.txt", false],
  ["AGENTS.md", false],
])("in SHIRO_HOME %p is private: %p", (path, expected) => expect(isPrivateHomePath(path)).toBe(expected));
