import { QUEUE_TABLES, type QueueKind } from '@waymark/event-format';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { InsertsElsewhere } from '../queue/inserts-elsewhere.js';
import { createJobAdder } from '../queue/job-adder.js';
import {
  batchOfJobKey,
  INSERT_COUNT_KEY,
  insertBatchKey,
  jobKey,
  TAILS_KEY,
  tailKey,
  WEBHOOK_QUEUE,
} from '../queue/keys.js';
import { addWebhookJobs, type WebhookJob } from '../queue/webhook-jobs.js';
import { type Publication, TAIL_IDS_MAX } from '../tail/tail-publisher.js';
import { ACKNOWLEDGE_BATCH, BEGIN_BATCH } from './manifest-scripts.js';

/**
 * The manifest records in Redis which jobs belong to which insert batch, and in which order. It is written before the insert. A
 * writer that receives one of these jobs again repeats exactly that insert, which ClickHouse drops by its deduplication token;
 * or, if the batch is acknowledged, only completes the job.
 */

/** TTL of an acknowledged batch. */
export const MANIFEST_MS = 15 * 60_000;
/** TTL of a batch that is not acknowledged: as long as a replicated ClickHouse keeps deduplication tokens. */
const OPEN_BATCH_MS = 7 * 24 * 3_600_000;

/** Indexes of the rows of a job that are not inserted, by the job's position in the batch. */
export type SkippedRows = Readonly<Record<string, readonly number[]>>;

/** The jobs of one INSERT into ClickHouse. The batch's id is its deduplication token. */
export interface NewInsertBatch {
  readonly id: string;
  readonly kind: QueueKind;
  readonly version: number;
  readonly jobIds: readonly string[];
  readonly skipped: SkippedRows;
  /** Reference time for the check of ids, epoch milliseconds, the same for every attempt. */
  readonly at: number;
}

/** An insert batch in the manifest. */
export interface InsertBatch extends NewInsertBatch {
  /** `split`: the whole insert was refused, and parts of it are being inserted. */
  readonly state: 'open' | 'split' | 'acknowledged';
  /** Number of inserts that the writers of its queue shard had started when this batch was begun, including its own. */
  readonly insertsBefore: number;
  /** Those of each other queue shard, or fewer (`InsertsElsewhere.seen`); undefined for a batch of a release that did not store them. */
  readonly insertsElsewhere?: readonly number[] | undefined;
}

const batchSchema = z.object({
  state: z.enum(['open', 'split', 'acknowledged']),
  kind: z.enum(Object.keys(QUEUE_TABLES) as [QueueKind, ...QueueKind[]]),
  v: z.coerce.number(),
  at: z.coerce.number(),
  jobs: z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text))),
  skip: z.string().transform((text) => z.record(z.string(), z.array(z.number())).parse(JSON.parse(text))),
  inserts: z.coerce.number(),
  elsewhere: z
    .string()
    .transform((text) => z.array(z.number()).parse(JSON.parse(text)))
    .optional(),
});

/** What {@link Manifest.acknowledge} stores. */
export interface Acknowledgement {
  readonly batchId: string;
  readonly jobIds: readonly string[];
  readonly webhookJobs: readonly WebhookJob[];
  readonly publication: Publication;
}

/** Keys and arguments of {@link ACKNOWLEDGE_BATCH}. */
function acknowledgementArguments({ batchId, jobIds, webhookJobs, publication }: Acknowledgement) {
  const { version, kind, entries } = publication;
  const keys = [
    insertBatchKey(batchId),
    TAILS_KEY,
    ...jobIds.map(batchOfJobKey),
    ...webhookJobs.map(({ id }) => jobKey(WEBHOOK_QUEUE, id)),
    ...entries.map(({ workspace }) => tailKey(workspace)),
  ];
  const counts = [webhookJobs.length, entries.length];
  const ids = entries.flatMap(({ ids }) => [ids.length, ids.join(' ')]);
  return { keys, args: [MANIFEST_MS, ...counts, version, kind, TAIL_IDS_MAX, ...ids] };
}

interface ManifestScripts {
  waymarkBeginBatch(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<string[]>;
  waymarkAcknowledgeBatch(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<string[]>;
}

/** The insert batches in Redis. Methods reject with the error of Redis or the connection; where replicas have to confirm, NotReplicatedError. */
export interface Manifest {
  /**
   * Adds a batch, unless a job of it belongs to another batch.
   *
   * @returns undefined; or, if some jobs belong to other batches and nothing was added, the batch id of each job (undefined: none)
   */
  begin(batch: NewInsertBatch): Promise<(string | undefined)[] | undefined>;
  /** The batch id of each job; undefined for a job without an entry. */
  find(jobIds: readonly string[]): Promise<(string | undefined)[]>;
  /** Reads a batch; undefined when it has expired. */
  read(batchId: string): Promise<InsertBatch | undefined>;
  /** Records that ClickHouse refused the batch as a whole, so that it is inserted in parts. */
  markSplit(batchId: string): Promise<void>;
  /**
   * Acknowledges a batch, adds its webhook jobs and publishes the ids of its events. Repeat it until it succeeds, and only
   * then complete the jobs of the batch: otherwise a failover could keep their completion and lose the acknowledgement.
   *
   * @returns undefined; or, if the publication was made for an outdated list of tails, the fields of that list: then only webhook jobs may
   * have been added, which the repeat adds under the same ids
   * @throws NotReplicatedError when the replicas have not confirmed
   */
  acknowledge(acknowledgement: Acknowledgement): Promise<readonly string[] | undefined>;
  /** Removes the entries of jobs from the manifest; the batches stay. */
  removeJobs(jobIds: readonly string[]): Promise<void>;
  /** Number of inserts that the writers of this queue shard have started. */
  insertCount(): Promise<number>;
  /** Number of inserts that the writers of all queue shards have started since the batch was begun; Infinity when they cannot be counted. */
  insertsSince(batch: InsertBatch): Promise<number>;
  /** Adds to that number inserts beyond the one that `begin` counts. */
  addInserts(count: number): Promise<void>;
}

/**
 * Creates the manifest on a writer's connection.
 *
 * @param replication confirms that replicas have batches and acknowledgements. If a failover lost a batch after its insert, its rows would be
 * inserted again under another token
 * @param elsewhere counts the inserts of other queue shards
 */
export function createManifest(redis: Redis, replication: Replication, elsewhere: InsertsElsewhere): Manifest {
  redis.defineCommand('waymarkBeginBatch', { lua: BEGIN_BATCH });
  redis.defineCommand('waymarkAcknowledgeBatch', { lua: ACKNOWLEDGE_BATCH });
  const scripts = redis as Redis & ManifestScripts;
  const adder = createJobAdder(redis);
  const orUndefined = (value: string | null | undefined) => (value === null || value === '' ? undefined : value);
  const insertCount = async () => Number((await redis.get(INSERT_COUNT_KEY)) ?? 0);

  return {
    async begin(batch) {
      const keys = [insertBatchKey(batch.id), INSERT_COUNT_KEY, ...batch.jobIds.map(batchOfJobKey)];
      const batchIds = await replication.confirmed(() =>
        scripts.waymarkBeginBatch(
          keys.length,
          ...keys,
          batch.id,
          OPEN_BATCH_MS,
          batch.kind,
          batch.version,
          batch.at,
          JSON.stringify(batch.jobIds),
          JSON.stringify(batch.skipped),
          JSON.stringify(elsewhere.seen()),
        ),
      );
      return batchIds.length === 0 ? undefined : batchIds.map(orUndefined);
    },

    async find(jobIds) {
      if (jobIds.length === 0) return [];
      return (await redis.mget(...jobIds.map(batchOfJobKey))).map(orUndefined);
    },

    async read(batchId) {
      const fields = await replication.confirmed(() => redis.hgetall(insertBatchKey(batchId)));
      const parsed = batchSchema.safeParse(fields);
      if (!parsed.success) return undefined;
      const { state, kind, v, at, jobs, skip, inserts, elsewhere: insertsElsewhere } = parsed.data;
      const content = { id: batchId, state, kind, version: v, at, jobIds: jobs, skipped: skip };
      return { ...content, insertsBefore: inserts, insertsElsewhere };
    },

    async markSplit(batchId) {
      await replication.confirmed(() => redis.hset(insertBatchKey(batchId), 'state', 'split'));
    },

    async acknowledge(acknowledgement) {
      const { keys, args } = acknowledgementArguments(acknowledgement);
      const run = async () => {
        if (acknowledgement.webhookJobs.length === 0) {
          return scripts.waymarkAcknowledgeBatch(keys.length, ...keys, ...args);
        }
        const multi = await adder.transaction();
        await addWebhookJobs(adder, multi, acknowledgement.webhookJobs);
        multi.eval(ACKNOWLEDGE_BATCH, keys.length, ...keys, ...args);
        return (await adder.run(multi)).at(-1) as string[];
      };
      const [isStale, ...tails] = await replication.confirmed(run);
      return isStale === undefined ? undefined : tails;
    },

    async removeJobs(jobIds) {
      await redis.del(...jobIds.map(batchOfJobKey));
    },

    insertCount,

    async insertsSince({ insertsBefore, insertsElsewhere, at }) {
      const [count, others] = await Promise.all([insertCount(), elsewhere.since(insertsElsewhere, at)]);
      const own = count - insertsBefore;
      // A lower count than before shows that Redis has lost it.
      return own < 0 ? Number.POSITIVE_INFINITY : own + others;
    },

    async addInserts(count) {
      await redis.incrby(INSERT_COUNT_KEY, count);
    },
  };
}
