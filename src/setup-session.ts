/** Which session a command line means: a new one, the newest, one by its id. Opens it; a held one as a copy. */
import { UserError } from "./errors.ts";
import { openCallsNote } from "./loop-open.ts";
import type { SessionFile } from "./session-file.ts";
import { findSessions, newestSession, openSession } from "./sessions.ts";
import type { Notice, SetupQuery } from "./setup-query.ts";

/** Throws UserError for an id that is unknown, ambiguous or can't be read; what should be said goes into `notices`. */
export function chooseSession(
  query: SetupQuery,
  home: string,
  project: string,
  fresh: () => SessionFile,
  deps: Parameters<typeof openSession>[2],
  notices: Notice[],
): SessionFile {
  const { options } = query;
  const id =
    options.resume === null
      ? options.continue
        ? newestId(query, home, project, notices)
        : null
      : uniqueId(home, options.resume);
  if (id === null) return fresh();
  const opened = openSession(home, id, deps);
  if ("problem" in opened) throw new UserError(`Session ${id} can't be resumed: ${opened.problem}`);
  if (opened.copyOf)
    notices.push({
      level: "warning",
      message: `That session is open in another process${opened.copyOf.pid === null ? "" : ` (pid ${opened.copyOf.pid})`}; this is a copy of it`,
    });
  const open = query.headless ? null : openCallsNote(opened.file);
  if (open !== null) notices.push({ level: "info", message: open });
  return opened.file;
}

function newestId(query: SetupQuery, home: string, project: string, notices: Notice[]): string | null {
  const { id, unreadable } = newestSession(home, project);
  for (const { path, reason } of unreadable)
    notices.push({ level: "warning", message: `${path} could not be read and was skipped: ${reason}` });
  if (id !== null) return id;
  if (query.headless) throw new UserError("There is no session of this directory to continue");
  notices.push({ level: "info", message: "There is no session of this directory yet; this is a new one." });
  return null;
}

function uniqueId(home: string, prefix: string): string {
  const ids = findSessions(home, prefix);
  const [id] = ids;
  if (id === undefined) throw new UserError(`No session begins with "${prefix}" (shiro sessions lists them)`);
  if (ids.length > 1) throw new UserError(`Several sessions begin with "${prefix}": ${ids.slice(0, 8).join(", ")}`);
  return id;
}
