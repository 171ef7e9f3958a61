import type { Stores } from '@waymark/bootstrap';
import type { Catalog, ErasureRecord } from '@waymark/catalog';
import { type ClickHouseClient, type ErasureBatch, prepareSubtraction } from '@waymark/clickhouse';
import { areTokensKept, countInserts } from '@waymark/event-queue';
import type { Logger } from '@waymark/http-kit';

/** Dependencies of {@link subtractOnce}. */
export interface ErasedCountersDeps {
  readonly erasures: Pick<Catalog['erasures'], 'update'>;
  readonly target: { readonly client: ClickHouseClient; readonly cluster: string | undefined };
  /** The Redis of each queue shard. */
  readonly queueShards: readonly Stores['redis'][];
  readonly logger: Pick<Logger, 'error'>;
}

/**
 * Takes the deleted events of a batch out of the counters, at most once. Call it before the mutations of the batch are started; it may be
 * repeated, also after a kill. ClickHouse drops a repeated insert by its token, but only for some thousand inserts of the writers. So one
 * erasure of the batch records that the subtraction has begun, and that it is done. When it was begun so long ago that a repeat could subtract
 * twice, it is not repeated: counters that are too high are better than those below zero, which wrap to almost 2^64.
 *
 * @param erasures those of the batch
 * @param assertHeld throws when another writer may continue the batch, or a logical shard may be moved
 */
export async function subtractOnce(
  { erasures: { update }, target, queueShards, logger }: ErasedCountersDeps,
  batch: ErasureBatch,
  erasures: readonly ErasureRecord[],
  assertHeld: () => void,
): Promise<void> {
  const marked = erasures.find(({ subtraction }) => subtraction?.batch === batch.id);
  const holder = marked ?? erasures[0];
  if (holder === undefined || marked?.subtraction?.isDone === true) return;
  const subtraction = await prepareSubtraction(target, batch);
  if (subtraction === undefined) return;
  const mark = (inserts: readonly number[], isDone: boolean) =>
    update(holder.workspaceId, holder.id, () => {
      assertHeld();
      return { subtraction: { batch: batch.id, isDone, groups: [...subtraction.groups], inserts: [...inserts] } };
    });
  const begun = marked?.subtraction;
  const inserts = begun?.inserts ?? (await countInserts(queueShards));
  if (begun === undefined) {
    await mark(inserts, false);
  } else if (begun.groups.join() !== subtraction.groups.join() || !(await areTokensKept(queueShards, inserts))) {
    const message =
      'the counters of links and workspaces may still count the deleted events of a batch of erasures: it was interrupted for too long';
    logger.error({ batch: batch.id }, message);
    await mark(inserts, true);
    return;
  }
  await subtraction.run(assertHeld);
  await mark(inserts, true);
}
