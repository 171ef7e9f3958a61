import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A data part on disk: the blocks from `first` to `last` of one partition, merged or not. */
interface PartRange {
  readonly partition: string;
  readonly first: number;
  readonly last: number;
}

const PART_NAME = /^(.+?)_(\d+)_(\d+)_\d+(?:_\d+)?$/;
/** Fields: 1 (added), part name, block id. */
const ADD_RECORD = /^1\t([^\t]+)\t[^\t]+$/;
const DROP_RECORD = /^2\t[^\t]+\t[^\t]+$/;

function partRange(name: string): PartRange | undefined {
  const [, partition, first, last] = PART_NAME.exec(name) ?? [];
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) };
}

/**
 * The valid records of a deduplication log: those whose blocks are on disk, in one of the parts `partNames`. A merged part contains
 * all blocks of its range.
 */
export function validRecords(log: string, partNames: readonly string[]): string[] {
  const parts = partNames.filter((name) => !name.startsWith('tmp')).flatMap((name) => partRange(name) ?? []);
  const isHeld = (name: string) => {
    const added = partRange(name);
    return parts.some(
      ({ partition, first, last }) =>
        added !== undefined && partition === added.partition && first <= added.first && last >= added.last,
    );
  };
  // The last line is dropped if it is incomplete.
  const lines = log.slice(0, log.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => {
    const name = ADD_RECORD.exec(line)?.[1];
    return name === undefined ? DROP_RECORD.test(line) : isHeld(name);
  });
}

/**
 * Removes records of blocks that do not exist from the deduplication logs of all tables.
 *
 * The engine records a block in the log before it renames the part into place. If it is killed between the two, it would drop the
 * repeated insert as a duplicate although its rows are missing, in a table or in the target of a view. This was seen twice in forty
 * kills under load. Call this only while nothing inserts; the engine must read the logs again afterwards.
 *
 * @returns the number of removed records
 */
export function repairDeduplicationLogs(dataDir: string): number {
  const store = join(dataDir, 'store');
  if (!existsSync(store)) return 0;
  let removed = 0;
  for (const prefix of readdirSync(store)) {
    for (const table of readdirSync(join(store, prefix))) {
      removed += repairTable(dataDir, join(store, prefix, table));
    }
  }
  return removed;
}

function repairTable(dataDir: string, table: string): number {
  const logs = join(table, 'deduplication_logs');
  if (!existsSync(logs)) return 0;
  const partNames = readdirSync(table);
  let removed = 0;
  for (const name of readdirSync(logs)) {
    const file = join(logs, name);
    const log = readFileSync(file, 'utf8');
    const kept = validRecords(log, partNames);
    const before = log.split('\n').filter((line) => line !== '').length;
    if (kept.length === before) continue;
    removed += before - kept.length;
    // Not in the directory of the logs, where the engine reads every file.
    const draft = join(dataDir, 'tmp', `${name}.repaired`);
    writeFileSync(draft, kept.map((line) => `${line}\n`).join(''));
    renameSync(draft, file);
  }
  return removed;
}
