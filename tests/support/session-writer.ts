/** A process that writes one session until it is killed: announces each message on stdout after handing it to the session. Arguments: home, session id or "new", characters a message. */
import { writeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { createSession, openSession } from "../../src/sessions.ts";
import { agent, call, results, user } from "./transcripts.ts";

const [home = "", id = "new", size = "2000"] = process.argv.slice(2);
const deps = { now: () => new Date(), onNotice: (message: string) => announce(`notice ${message}`) };

function announce(line: string): void {
  writeSync(1, `${line}\n`);
}

function open() {
  if (id === "new") return createSession({ home, cwd: "/project", provider: "p", model: "m" }, deps);
  const opened = openSession(home, id, deps);
  if ("problem" in opened) throw new Error(opened.problem);
  if (opened.copyOf) throw new Error(`held by ${opened.copyOf.pid}`);
  return opened.file;
}

const file = open();
announce(`id ${file.id}`);
for (let index = file.record.messages.length; ; index++) {
  const text = `${index} `.padEnd(Number(size), "x");
  if (index % 3 === 0) file.appendMessage(user(text));
  else if (index % 3 === 1) {
    file.appendMessage(agent(text, call(`c${index}`)));
    file.startCall({ id: `c${index}`, name: "read_file", input: {} });
  } else file.appendMessage(results(`c${index - 1}`));
  announce(`message ${index}`);
  // Lets timers and unfinished folds go on, as a real session does between steps.
  if (index % 5 === 4) await setImmediate();
  if (index % 40 === 39) void file.flush();
}
