/** A process that adds notes and prompts to one project's shared files. Arguments: home, project, name, count. */
import { PromptHistory } from "../../src/history-file.ts";
import { openMemory } from "../../src/memory.ts";

const [home = "", project = "", name = "", count = "0"] = process.argv.slice(2);
const now = () => new Date();
const history = new PromptHistory({ home, project, now });
const memory = openMemory({ home, project, now });
for (let index = 0; index < Number(count); index++) {
  await Promise.all([
    history.add(`${name} prompt ${index}`),
    memory.add({ kind: "fact", text: `${name}${index} ${"abcdefghij"[index % 10]} ${index * 7919}` }),
  ]);
}
if (history.problem || memory.problem) throw new Error(history.problem?.reason ?? memory.problem ?? "");
