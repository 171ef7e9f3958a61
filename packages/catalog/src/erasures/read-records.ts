import { chunksOf, groupBy } from '@waymark/contract';
import type { Stored } from '../model/entity-type.js';
import type { ErasureRecord } from '../model/job-record-schemas.js';
import type { RecordKey } from '../store/record-table.js';

/** Reads erasures of a workspace by the UInt64 of their ids. */
export type ReadErasures = (workspace: string, numbers: readonly string[]) => Promise<readonly Stored<ErasureRecord>[]>;

/** Erasures that one statement reads. An erasure has at most ten thousand clicks (`CLICKS_MAX` of erasures.ts), 300 kB; so 200 have at most 60 MB. */
const ERASURES_PER_READ = 200;
const READS_AT_ONCE = 4;

/** The keys in groups of one workspace each. */
function* groupsOf(keys: Iterable<RecordKey>): Generator<readonly [workspace: string, numbers: readonly string[]]> {
  for (const [workspace, ofWorkspace] of groupBy(keys, ([workspace]) => workspace)) {
    for (const some of chunksOf(ofWorkspace, ERASURES_PER_READ)) yield [workspace, some.map(([, number]) => number)];
  }
}

/**
 * Reads erasures in bounded statements, up to four at a time. With ten thousand clicks an erasure has 300 kB, so that all of them together may
 * be more than a statement may return. Erasures that do not exist are left out.
 */
export async function* readErasures(
  read: ReadErasures,
  keys: Iterable<RecordKey>,
): AsyncGenerator<readonly Stored<ErasureRecord>[]> {
  let reads: ReturnType<ReadErasures>[] = [];
  for (const [workspace, numbers] of groupsOf(keys)) {
    reads.push(read(workspace, numbers));
    if (reads.length < READS_AT_ONCE) continue;
    for (const found of await Promise.all(reads)) yield found;
    reads = [];
  }
  for (const found of await Promise.all(reads)) yield found;
}
