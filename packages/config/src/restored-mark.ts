import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const restoredMarkSchema = z.object({
  /** When the backup was created. */
  backupAt: z.iso.datetime(),
  /** Present until the directory has all parts of the backup. */
  isPartial: z.literal(true).optional(),
});
/** Content of `DATA_DIR/restored.json`, which exists from a restore until a start has prepared the restored stores. */
export type RestoredMark = z.infer<typeof restoredMarkSchema>;

const fileIn = (dataDir: string) => join(dataDir, 'restored.json');

/** The mark in `dataDir`; undefined when its stores were not restored, or a start has prepared them. @throws Error when it cannot be read */
export function readRestoredMark(dataDir: string): RestoredMark | undefined {
  try {
    return restoredMarkSchema.parse(JSON.parse(readFileSync(fileIn(dataDir), 'utf8')));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${fileIn(dataDir)} cannot be read`, { cause: err });
  }
}

/** Writes the mark. Call it before the restored stores are in `dataDir`. */
export function writeRestoredMark(dataDir: string, mark: RestoredMark): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(fileIn(dataDir), `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true });
}

/** Removes the mark, when the restored stores have been prepared. */
export function removeRestoredMark(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true });
}

/** The error message for a directory in which a restore was interrupted before all parts of the backup were there; undefined for any other. */
export function partialRestore(dataDir: string): string | undefined {
  const mark = readRestoredMark(dataDir);
  return mark?.isPartial === true
    ? `DATA_DIR ${dataDir} has only a part of the backup of ${mark.backupAt}, because waymark restore was interrupted: empty it, or set DATA_DIR to another directory, and repeat that command`
    : undefined;
}
