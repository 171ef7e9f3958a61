import { QUEUE_TABLES, type QueueKind } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { createJobAdder } from '../queue/job-adder.js';
import { groupKey, INSERT_COUNT_KEY, jobGroupKey, jobKey, WEBHOOK_QUEUE } from '../queue/keys.js';
import { addWebhookJobs, type WebhookJob } from '../queue/webhook-jobs.js';
import { ACKNOWLEDGE_GROUP, BEGIN_GROUP } from './manifest-scripts.js';

/**
 * The manifest says which jobs went into which insert, in which order. It is written before the insert, so that whoever meets
 * one of its jobs again repeats exactly that insert, which ClickHouse drops by its token, or finds that there is nothing to do.
 */

/** How long an acknowledged group is kept. */
export const MANIFEST_MS = 15 * 60_000;
/** An unfinished group is kept as long as a replicated ClickHouse keeps deduplication tokens. */
const OPEN_GROUP_MS = 7 * 24 * 3_600_000;

/** Rows of a member that are not part of the insert, by its position in the group. */
export type SkippedRows = Readonly<Record<string, readonly number[]>>;

export interface NewGroup {
  readonly id: string;
  readonly kind: QueueKind;
  readonly version: number;
  readonly jobIds: readonly string[];
  readonly skipped: SkippedRows;
  /** Epoch milliseconds: which rows are too old or too new is decided as of then, for every repeat. */
  readonly at: number;
}

export interface Group extends NewGroup {
  /** `split`: the insert as a whole was refused and its parts are being inserted. */
  readonly state: 'open' | 'split' | 'acknowledged';
  /** How many inserts had been begun, by all writers, when this one was. */
  readonly insertsBefore: number;
}

const groupSchema = z.object({
  state: z.enum(['open', 'split', 'acknowledged']),
  kind: z.enum(Object.keys(QUEUE_TABLES) as [QueueKind, ...QueueKind[]]),
  v: z.coerce.number(),
  at: z.coerce.number(),
  jobs: z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text))),
  skip: z.string().transform((text) => z.record(z.string(), z.array(z.number())).parse(JSON.parse(text))),
  inserts: z.coerce.number(),
});

interface ManifestScripts {
  waymarkBeginGroup(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<string[]>;
  waymarkAcknowledgeGroup(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<number>;
}

export interface Manifest {
  /** Enters a group. Answers undefined, or the group that each job is in already (undefined for those in none). */
  begin(group: NewGroup): Promise<(string | undefined)[] | undefined>;
  /** The group each job is in. */
  find(jobIds: readonly string[]): Promise<(string | undefined)[]>;
  read(groupId: string): Promise<Group | undefined>;
  markSplit(groupId: string): Promise<void>;
  acknowledge(groupId: string, jobIds: readonly string[]): Promise<void>;
  /** The same together with adding the webhook jobs that follow: all or nothing. */
  acknowledgeWith(groupId: string, jobIds: readonly string[], webhookJobs: readonly WebhookJob[]): Promise<void>;
  /** Takes jobs out of the manifest. */
  forget(jobIds: readonly string[]): Promise<void>;
  /** How many inserts all writers have begun so far. */
  insertCount(): Promise<number>;
  /** Counts inserts beyond the one that `begin` counts. */
  addInserts(count: number): Promise<void>;
}

/** The manifest over a writer's connection. */
export function createManifest(redis: Redis): Manifest {
  redis.defineCommand('waymarkBeginGroup', { lua: BEGIN_GROUP });
  redis.defineCommand('waymarkAcknowledgeGroup', { lua: ACKNOWLEDGE_GROUP });
  const scripts = redis as Redis & ManifestScripts;
  const adder = createJobAdder(redis);
  const orUndefined = (value: string | null | undefined) => (value === null || value === '' ? undefined : value);

  return {
    async begin(group) {
      const keys = [groupKey(group.id), INSERT_COUNT_KEY, ...group.jobIds.map(jobGroupKey)];
      const known = await scripts.waymarkBeginGroup(
        keys.length,
        ...keys,
        group.id,
        OPEN_GROUP_MS,
        group.kind,
        group.version,
        group.at,
        JSON.stringify(group.jobIds),
        JSON.stringify(group.skipped),
      );
      return known.length === 0 ? undefined : known.map(orUndefined);
    },

    async find(jobIds) {
      if (jobIds.length === 0) return [];
      return (await redis.mget(...jobIds.map(jobGroupKey))).map(orUndefined);
    },

    async read(groupId) {
      const fields = await redis.hgetall(groupKey(groupId));
      const parsed = groupSchema.safeParse(fields);
      if (!parsed.success) return undefined;
      const { state, kind, v, at, jobs, skip, inserts } = parsed.data;
      return { id: groupId, state, kind, version: v, at, jobIds: jobs, skipped: skip, insertsBefore: inserts };
    },

    async markSplit(groupId) {
      await redis.hset(groupKey(groupId), 'state', 'split');
    },

    async acknowledge(groupId, jobIds) {
      const keys = [groupKey(groupId), ...jobIds.map(jobGroupKey)];
      await scripts.waymarkAcknowledgeGroup(keys.length, ...keys, MANIFEST_MS, 0);
    },

    async acknowledgeWith(groupId, jobIds, webhookJobs) {
      const keys = [groupKey(groupId), ...jobIds.map(jobGroupKey)];
      const following = webhookJobs.map(({ id }) => jobKey(WEBHOOK_QUEUE, id));
      const multi = await adder.transaction();
      await addWebhookJobs(adder, multi, webhookJobs);
      const keyCount = keys.length + following.length;
      multi.eval(ACKNOWLEDGE_GROUP, keyCount, ...keys, ...following, MANIFEST_MS, following.length);
      await adder.run(multi);
    },

    async forget(jobIds) {
      await redis.del(...jobIds.map(jobGroupKey));
    },

    async insertCount() {
      return Number((await redis.get(INSERT_COUNT_KEY)) ?? 0);
    },

    async addInserts(count) {
      await redis.incrby(INSERT_COUNT_KEY, count);
    },
  };
}
