import { fstatSync, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const STDOUT = 1;

/** Writes lines to a file. While the disk is full, lines are lost: pino's own destination would end the process instead. */
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

/** Standard output if it is a file; undefined for pipes and terminals, for which pino's own destination waits if they are slow. */
export function standardOutputFile(): DestinationStream | undefined {
  return fstatSync(STDOUT).isFile() ? fileDestination(STDOUT) : undefined;
}
