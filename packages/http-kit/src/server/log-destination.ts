import { fstatSync, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const STDOUT = 1;

/** Writes lines to a file. Those that do not fit on a full disk are lost: the log must not end the process, as pino would. */
export function fileDestination(fd: number): DestinationStream {
  return {
    write(line) {
      try {
        writeSync(fd, line);
      } catch {
        // The failure could only be reported in this log.
      }
    },
  };
}

/** Standard output if it is a file; undefined for pipes and terminals, which pino waits for if they are slow. */
export function standardOutputFile(): DestinationStream | undefined {
  return fstatSync(STDOUT).isFile() ? fileDestination(STDOUT) : undefined;
}
