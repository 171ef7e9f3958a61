import { UnknownOutcomeError } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import type { CatalogRecord } from '../model/entity-type.js';
import { type CreationFault, NamesBusyError, type NewRecord } from './write-context.js';

/** Maximum number of records of one batch. */
const BATCH_MAX = 100;
/** A batch that takes longer is waiting for a lock or a store; the next batch starts without waiting for its end. */
const BATCH_WAIT_MS = 250;
/** Pause after a batch, so that the next requests of its callers join one batch. Without it, batches have half as many records. */
const GATHER_MS = 10;

/** The operations that a creation batcher needs. */
export interface CreationActions<R extends CatalogRecord> {
  /** Creates records of one workspace in one insert. @throws NamesBusyError at once when another request holds the lock of a name */
  createTogether(workspaceId: string, records: readonly NewRecord<R>[]): Promise<readonly CreationFault[]>;
  /** Creates one record. Waits for the locks of its names. */
  createAlone(record: NewRecord<R>): Promise<void>;
}

interface Entry<R extends CatalogRecord> {
  readonly record: NewRecord<R>;
  readonly resolve: () => void;
  readonly reject: (err: unknown) => void;
}

/** The creations of one workspace. */
interface CreationQueue<R extends CatalogRecord> {
  isBusy: boolean;
  waiting: Entry<R>[];
}

/**
 * Creates a function that creates one record, and batches the creations of a workspace that arrive while an earlier one is in progress.
 * Every statement costs ClickHouse milliseconds, even for one row: 32 links took 49 ms of processor time one by one, and 29 ms together.
 */
export function createCreationBatcher<R extends CatalogRecord>(actions: CreationActions<R>) {
  const { createTogether, createAlone } = actions;
  const queues = new Map<string, CreationQueue<R>>();

  function settle({ resolve, reject }: Entry<R>, work: Promise<void>): Promise<void> {
    return work.then(resolve, reject);
  }

  /** Whether a single creation may have caused the error (a locked name, a refused row), so that each is tried alone. */
  function concernsOne(err: unknown): boolean {
    if (err instanceof NamesBusyError) return true;
    return !(err instanceof ApiError) && !(err instanceof UnknownOutcomeError);
  }

  async function createGroup(workspaceId: string, group: readonly Entry<R>[]): Promise<void> {
    const alone = () => Promise.all(group.map((entry) => settle(entry, createAlone(entry.record))));
    if (group.length === 1) return void (await alone());
    try {
      const faults = await createTogether(
        workspaceId,
        group.map(({ record }) => record),
      );
      for (const [index, { resolve, reject }] of group.entries()) {
        const fault = faults[index];
        if (fault === undefined) resolve();
        else reject(fault);
      }
    } catch (err) {
      if (concernsOne(err)) await alone();
      else for (const { reject } of group) reject(err);
    }
  }

  function next(workspaceId: string, queue: CreationQueue<R>): void {
    const group = queue.waiting.splice(0, BATCH_MAX);
    if (group.length === 0) {
      queue.isBusy = false;
      queues.delete(workspaceId);
      return;
    }
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      next(workspaceId, queue);
    };
    const timer = setTimeout(over, BATCH_WAIT_MS);
    void createGroup(workspaceId, group).finally(() => {
      clearTimeout(timer);
      if (group.length === 1) over();
      else setTimeout(over, GATHER_MS);
    });
  }

  return function create(record: NewRecord<R>): Promise<void> {
    const { workspaceId } = record.record;
    const queue = queues.get(workspaceId) ?? { isBusy: false, waiting: [] };
    queues.set(workspaceId, queue);
    return new Promise((resolve, reject) => {
      queue.waiting.push({ record, resolve, reject });
      if (queue.isBusy) return;
      queue.isBusy = true;
      next(workspaceId, queue);
    });
  };
}
