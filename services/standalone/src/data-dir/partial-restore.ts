import { readRestoredMark } from '@waymark/config';

/** @throws Error when `waymark restore` was killed, or failed, before DATA_DIR had all parts of the backup */
export function rejectPartialRestore(dataDir: string): void {
  const mark = readRestoredMark(dataDir);
  if (mark?.isPartial !== true) return;
  throw new Error(
    `DATA_DIR ${dataDir} has only a part of the backup of ${mark.backupAt}, because waymark restore was interrupted: empty it, or set DATA_DIR to another directory, and repeat that command`,
  );
}
