import type { ClickHouseClient } from '../client.js';
import { takeSchemaLeaseInTurn } from '../migrations/schema-lease.js';
import { readPlacement, type UnfinishedMove } from './placement-store.js';

/** Options of {@link betweenMoves}. */
export interface BetweenMovesOptions {
  readonly client: ClickHouseClient;
  /** Name of the cluster; undefined: one server, which has no moves. */
  readonly cluster: string | undefined;
  /** How long to wait for a command or a migration that has the lease on the schema. */
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** Whether the work was done. If not, `move` is the move that is not finished; undefined if something else had the lease. */
export type BetweenMoves =
  | { readonly isDone: true }
  | { readonly isDone: false; readonly move: UnfinishedMove | undefined };

/**
 * Does work that must not run while a logical shard is moved, such as the start of mutations: a mutation leaves out parts that are inserted after
 * it, as those of a copy are. The work holds the lease that each move holds as well, and is left out while a move is unfinished, also one that was
 * killed. While a command moves several logical shards, the work runs as soon as the present one has been moved.
 *
 * @param work called with a function that throws when a move may have begun meanwhile
 */
export async function betweenMoves(
  { client, cluster, waitMs, signal }: BetweenMovesOptions,
  work: (assertHeld: () => void) => Promise<void>,
): Promise<BetweenMoves> {
  if (cluster === undefined) {
    await work(() => undefined);
    return { isDone: true };
  }
  const unfinished = async () => (await readPlacement(client, { cluster }))?.move;
  const lease = await takeSchemaLeaseInTurn(client, { cluster }, { waitMs, signal });
  if (lease === undefined) return { isDone: false, move: await unfinished() };
  try {
    const move = await unfinished();
    if (move !== undefined || signal.aborted) return { isDone: false, move };
    await work(() => lease.assertHeld());
    return { isDone: true };
  } finally {
    await lease.release().catch(() => undefined);
  }
}
