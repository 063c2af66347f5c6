/** Where tests that make thousands of files have them made: in memory where the system has room for it, since a disk may take seconds. Only for files that are read, never for programs to start. */
import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const MEMORY = "/dev/shm";
/** Containers often have 64 MB there, which other programs need as well. */
const ENOUGH_BYTES = 512 * 1024 * 1024;

/** A directory to make temporary directories in. */
export function dirForManyFiles(): string {
  try {
    accessSync(MEMORY, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ENOUGH_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir(); // not every system has it
  }
}
