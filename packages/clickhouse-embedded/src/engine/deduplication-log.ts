import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A block of rows on disk: the inserts from `first` to `last` of one partition, merged or not. */
interface PartRange {
  readonly partition: string;
  readonly first: number;
  readonly last: number;
}

const PART_NAME = /^(.+?)_(\d+)_(\d+)_\d+(?:_\d+)?$/;
/** Added, part name, block id. */
const ADD_RECORD = /^1\t([^\t]+)\t[^\t]+$/;
const DROP_RECORD = /^2\t[^\t]+\t[^\t]+$/;

function partRange(name: string): PartRange | undefined {
  const [, partition, first, last] = PART_NAME.exec(name) ?? [];
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) };
}

/**
 * The records of a log that are true: those of parts that `partNames`, the parts on disk, hold. A merged part holds all
 * between its numbers.
 */
export function trueRecords(log: string, partNames: readonly string[]): string[] {
  const parts = partNames.filter((name) => !name.startsWith('tmp')).flatMap((name) => partRange(name) ?? []);
  const isHeld = (name: string) => {
    const added = partRange(name);
    return parts.some(
      ({ partition, first, last }) =>
        added !== undefined && partition === added.partition && first <= added.first && last >= added.last,
    );
  };
  // A line without its end was being written.
  const lines = log.slice(0, log.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => {
    const name = ADD_RECORD.exec(line)?.[1];
    return name === undefined ? DROP_RECORD.test(line) : isHeld(name);
  });
}

/**
 * Takes from the deduplication logs of every table what a kill left untrue, and tells how many records that were.
 *
 * This engine writes "this block is there" to the log and renames the part into its place one system call later. Killed
 * between the two, it would drop the repeat of the insert as known although its rows are not there: lost, in a table or in
 * the target of a view. Seen twice in forty kills under load. Only while nothing inserts; the engine must read the logs
 * again afterwards.
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
    const kept = trueRecords(log, partNames);
    const before = log.split('\n').filter((line) => line !== '').length;
    if (kept.length === before) continue;
    removed += before - kept.length;
    // Not beside the logs: the engine takes every file there for one.
    const draft = join(dataDir, 'tmp', `${name}.repaired`);
    writeFileSync(draft, kept.map((line) => `${line}\n`).join(''));
    renameSync(draft, file);
  }
  return removed;
}
