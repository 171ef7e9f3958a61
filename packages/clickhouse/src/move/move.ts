import { createDatabase } from '../migrations/database.js';
import { createTables, createViews } from '../migrations/in-two-parts.js';
import { migrationStatus } from '../migrations/migrate.js';
import { type SchemaLease, takeSchemaLease } from '../migrations/schema-lease.js';
import { haveEverExpired, markExpired } from '../retention/retention.js';
import { copySlice } from './copy-slice.js';
import { type Digest, readDigest } from './digest.js';
import { eachOf } from './each-of.js';
import { type ConnectedEndpoint, type MoveEndpoint, openSource, openTarget } from './endpoints.js';
import { type MoveHeader, MoveState, type PlannedSlice } from './move-state.js';
import { planSlices } from './plan-slices.js';
import { assertUsable, identifySource, readOrWriteHeader, untilNothingIsInserted } from './preconditions.js';
import { conditionOf } from './slice.js';
import { mergedTable, readShape, type TableShape, tablesToMove } from './table-shape.js';

/** Size of a slice in memory, some ten thousand clicks: enough for efficient inserts, and an embedded store can hold such a result. */
const SLICE_BYTES = 16 * 1024 ** 2;
/** Slices copied concurrently to one node. On a cluster it is one, because inserts wait for their quorum one after the other. */
const SLICES_AT_ONCE = 4;
/** Rows that expire within this time are not moved, because either server may delete them while they are compared. */
const EXPIRY_MARGIN_SECONDS = 24 * 3600;

/** Options of {@link moveDatabase}. */
export interface MoveOptions {
  readonly source: MoveEndpoint;
  readonly target: MoveEndpoint;
  /** Size of a slice in memory; 16 MB by default. */
  readonly sliceBytes?: number | undefined;
  /** Called after each slice. */
  readonly onProgress?: ((progress: MoveProgress) => void) | undefined;
}

/** How far a move has come. Bytes are those of the columns in memory. */
export interface MoveProgress {
  /** The table of the slice that has just been handled. */
  readonly table: string;
  /** Rows and bytes at the target, of all tables together, including those that earlier runs have copied. */
  readonly rows: number;
  readonly bytes: number;
  /** Bytes of all rows to move. */
  readonly totalBytes: number;
  /** Bytes that this run has copied. */
  readonly copiedBytes: number;
}

/** A table that has the same rows in both databases. */
export interface MovedTable {
  readonly table: string;
  /** Number of rows as queries see them, that is after merging. */
  readonly rows: number;
  readonly bytes: number;
  /** Sum of the hashes of all rows, modulo 2 to the 64th. */
  readonly checksum: string;
}

/** What {@link moveDatabase} has moved. */
export interface MoveReport {
  /** Empty when an earlier run has copied everything, and this one only had to drop the tables of the move. */
  readonly tables: readonly MovedTable[];
}

/**
 * Copies all tables of a database into another one that is empty, and compares them (docs/runbooks/moving-off-one-machine.md). It creates
 * the materialized views of the target last, so that none of them counts a copied row. It may be killed at any time: the next call
 * continues. Until the end the migrations of the target are not recorded, so that no service uses it. Nothing may write to either database
 * meanwhile.
 *
 * @throws MoveRefusedError when the databases cannot be moved as they are, MoveEndpointError for an error of a server
 */
export async function moveDatabase(options: MoveOptions): Promise<MoveReport> {
  const [source, target] = [openSource(options.source), openTarget(options.target)];
  try {
    const identity = await identifySource(source);
    await assertUsable(target, identity);
    const state = new MoveState(target);
    await createDatabase(target.client, target);
    await state.create();
    const lease = await takeSchemaLease(target.client, target);
    try {
      const header = await readOrWriteHeader(state, identity);
      return await new Move({ ...options, source, target, state, lease, header }).run();
    } finally {
      // If the server is away, the lease expires. The error to report is the one that ended the move.
      await lease.release().catch(() => undefined);
    }
  } finally {
    await Promise.all([source.client.close(), target.client.close()]);
  }
}

interface MoveParts extends Omit<MoveOptions, 'source' | 'target'> {
  readonly source: ConnectedEndpoint;
  readonly target: ConnectedEndpoint;
  readonly state: MoveState;
  readonly lease: SchemaLease;
  readonly header: MoveHeader;
}

class Move {
  readonly #parts: MoveParts;
  readonly #progress = { rows: 0, bytes: 0, totalBytes: 0, copiedBytes: 0 };

  constructor(parts: MoveParts) {
    this.#parts = parts;
  }

  async run(): Promise<MoveReport> {
    const { target, lease, state } = this.#parts;
    const tables = (await this.#isComplete()) ? [] : await this.#copyTables();
    await createViews(target.client, { cluster: target.cluster, lease });
    await state.drop();
    return { tables };
  }

  async #isComplete(): Promise<boolean> {
    const { client, cluster } = this.#parts.target;
    return (await migrationStatus(client, { cluster })).every(({ state }) => state === 'applied');
  }

  async #copyTables(): Promise<MovedTable[]> {
    const { source, target, state, lease, header } = this.#parts;
    // Only while no table has rows, because some statements of migrations would rewrite their columns.
    if (!(await state.hasPlans())) await createTables(target.client, { cluster: target.cluster, lease });
    if (await haveEverExpired(source.client)) await markExpired(target.client, { cluster: target.cluster });
    await untilNothingIsInserted(target);
    const keptAfter = header.startedAt + EXPIRY_MARGIN_SECONDS;
    const shapes = new Map<TableShape, number>();
    for (const name of await tablesToMove(target)) {
      const shape = await readShape(source, name, keptAfter);
      const rows = await countRows(source, shape, shape.name);
      shapes.set(shape, rows);
      this.#progress.totalBytes += rows * shape.rowBytes;
    }
    const moved: MovedTable[] = [];
    for (const [shape, rows] of shapes) moved.push(await this.#copyTable(shape, rows));
    return moved;
  }

  async #plan(shape: TableShape): Promise<readonly PlannedSlice[]> {
    const { source, state, sliceBytes = SLICE_BYTES } = this.#parts;
    const planned = await state.readSlices(shape.name);
    if (planned !== undefined) return planned;
    const slices = await planSlices(source, shape, sliceBytes);
    if (slices.length > 0) await state.writePlan(shape.name, slices);
    return slices.map((slice) => ({ ...slice, copied: undefined }));
  }

  async #copyTable(shape: TableShape, storedRows: number): Promise<MovedTable> {
    const { source, target } = this.#parts;
    const slices = storedRows === 0 ? [] : await this.#plan(shape);
    let rows = 0;
    let checksum = 0n;
    await eachOf(slices, target.cluster === undefined ? SLICES_AT_ONCE : 1, async (slice) => {
      if (slice.copied !== undefined) await assertUnchanged(source, shape, slice, slice.copied);
      const digest = slice.copied ?? (await this.#copy(shape, slice));
      rows += Number(digest.rows);
      checksum = BigInt.asUintN(64, checksum + BigInt(digest.checksum));
      this.#note(shape, Number(digest.rows), slice.copied === undefined);
    });
    await assertCounts(shape, rows, source, target);
    return { table: shape.name, rows, bytes: Math.round(rows * shape.rowBytes), checksum: String(checksum) };
  }

  async #copy(shape: TableShape, slice: PlannedSlice): Promise<Digest> {
    const { source, target, state, lease, header } = this.#parts;
    lease.assertHeld();
    const moveId = `${header.source} ${header.startedAt}`;
    const digest = await copySlice({ source, target, shape, slice, moveId });
    await state.writeCopied(shape.name, slice, digest);
    return digest;
  }

  #note(shape: TableShape, rows: number, isNew: boolean): void {
    const bytes = rows * shape.rowBytes;
    this.#progress.rows += rows;
    this.#progress.bytes += bytes;
    if (isNew) this.#progress.copiedBytes += bytes;
    this.#parts.onProgress?.({ table: shape.name, ...this.#progress });
  }
}

async function countRows({ client }: ConnectedEndpoint, { kept }: TableShape, from: string): Promise<number> {
  const [row] = await client.rows<[string]>({ query: `SELECT count() FROM ${from} WHERE ${kept}` });
  return Number(row?.[0]);
}

/**
 * Compares a slice that an earlier run has copied with the source, where a change of a record or of a total, as of a stack that was started
 * in between, leaves the number of rows as it is. A change of events does not: {@link assertCounts} finds it. @throws Error
 */
async function assertUnchanged(
  source: ConnectedEndpoint,
  shape: TableShape,
  slice: PlannedSlice,
  copied: Pick<Digest, 'rows' | 'checksum'>,
): Promise<void> {
  if (shape.merging === 'none') return;
  const { rows, checksum } = await readDigest(source, shape, conditionOf(slice, shape));
  if (rows === copied.rows && checksum === copied.checksum) return;
  throw new Error(
    `slice ${slice.number} of ${shape.name} has changed since it was copied: something has written meanwhile. ` +
      'Stop it, drop the target database, and move again',
  );
}

/** Compares the whole table with its slices, to detect rows that were written meanwhile or belong to no slice. @throws Error */
async function assertCounts(
  shape: TableShape,
  rows: number,
  source: ConnectedEndpoint,
  target: ConnectedEndpoint,
): Promise<void> {
  const from = mergedTable(shape);
  const [atSource, atTarget] = [await countRows(source, shape, from), await countRows(target, shape, from)];
  if (atSource === rows && atTarget === rows) return;
  throw new Error(
    `${rows} rows of ${shape.name} were copied, but the source has ${atSource} and the target ${atTarget}: ` +
      'something has written meanwhile. Stop it, drop the target database, and move again',
  );
}
