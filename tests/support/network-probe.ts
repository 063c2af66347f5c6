/** Child program of the network tests: fetches each URL of its arguments by our rules and prints one JSON line. No test itself. */
import { networkOptions } from "../../src/network.ts";

const answers: Record<string, string> = {};
for (const url of process.argv.slice(2)) {
  try {
    const response = await fetch(url, { ...networkOptions(url, process.env), signal: AbortSignal.timeout(5000) });
    answers[url] = await response.text();
  } catch (error) {
    answers[url] = error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}
console.log(JSON.stringify(answers));
