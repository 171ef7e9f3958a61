import { createHash } from 'node:crypto';
import { insertionSettings } from '../rows/insert-rows.js';
import { pipeRows } from '../rows/pipe-rows.js';
import { COPY_QUORUM_INSERT } from '../rows/replicated.js';
import { type Digest, isEmpty, isSame, readDigest } from './digest.js';
import type { ConnectedEndpoint } from './endpoints.js';
import { conditionOf, type Slice } from './slice.js';
import { mergedTable, type TableShape } from './table-shape.js';

/** The `log_comment` of the inserts of a move, by which a later run finds the ones that are still running. */
export const MOVE_COMMENT = 'waymark move';
const ATTEMPTS_MAX = 2;

/** A slice to copy, and where. */
export interface SliceCopy {
  readonly source: ConnectedEndpoint;
  readonly target: ConnectedEndpoint;
  readonly shape: TableShape;
  readonly slice: Slice;
  /** Distinguishes this move from others into the same database. */
  readonly moveId: string;
}

/**
 * The statement that reads rows as queries see them. For records it also reads the rows of removals, which queries do not see, because
 * removals have to replace earlier versions at the target too.
 */
function readSql(shape: TableShape, where: string): string {
  const columns = shape.values.join(', ');
  const rows = `SELECT ${columns} FROM ${mergedTable(shape)} WHERE ${where}`;
  return shape.merging === 'versions'
    ? `${rows} UNION ALL SELECT ${columns} FROM ${shape.name} WHERE ${where} AND deleted`
    : rows;
}

function tokenOf({ moveId, shape, slice }: SliceCopy, attempt: number): string {
  const { partition, above, upTo } = slice;
  const text = JSON.stringify([moveId, shape.name, partition, above, upTo, attempt]);
  return createHash('sha256').update(text).digest('hex');
}

async function insertSlice(copy: SliceCopy, where: string, attempt: number): Promise<void> {
  const { source, target, shape } = copy;
  const settings = {
    ...insertionSettings({ deduplicationToken: tokenOf(copy, attempt) }),
    ...(target.cluster === undefined ? {} : COPY_QUORUM_INSERT),
    log_comment: MOVE_COMMENT,
  };
  await pipeRows(
    { client: source.client, query: readSql(shape, where) },
    { client: target.client, table: shape.name, columns: shape.columns.join(', '), settings },
  );
}

/**
 * Copies a slice, unless the target has it already, and compares both. A slice is one block of one partition, so on one node it is stored
 * whole or not at all; on a cluster one shard may have its rows and another not. In both cases the deduplication token makes a repeated
 * insert harmless. If the target has no rows after the first insert, the server has stored the token but was killed before it stored the rows;
 * only then is the insert repeated with a second token.
 *
 * @throws Error when source and target differ after the copy
 */
export async function copySlice(copy: SliceCopy): Promise<Digest> {
  const { source, target, shape, slice } = copy;
  const where = conditionOf(slice, shape);
  const expected = await readDigest(source, shape, where);
  let found = await readDigest(target, shape, where);
  for (let attempt = 0; attempt < ATTEMPTS_MAX && !isSame(expected, found); attempt++) {
    if (attempt > 0 && !isEmpty(found)) break;
    await insertSlice(copy, where, attempt);
    found = await readDigest(target, shape, where);
  }
  if (isSame(expected, found)) return found;
  throw new Error(
    `slice ${slice.number} of ${shape.name} differs after it was copied: the source has ${expected.rows} rows, the target ${found.rows}. ` +
      'Is something still writing to one of them? Drop the target database, and move again',
  );
}
