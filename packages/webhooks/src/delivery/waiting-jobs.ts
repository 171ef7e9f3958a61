import type { WebhookRecord } from '@waymark/catalog';
import { chunksOf } from '@waymark/contract';
import { jobKey, stateKey, WEBHOOK_QUEUE, type WebhookJob } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { dropEvents } from './job-data.js';
import { jobIdPrefix } from './webhook-job.js';

/**
 * Counts the bytes of the queued jobs that contain bodies, by workspace and webhook, in the Redis of their queue shard. Jobs that name
 * events by their ids have a count of their own: {@link WaitingIds}.
 */
export interface WaitingBodies {
  /**
   * Counts jobs that are about to be queued. A job that is counted already is not counted again.
   *
   * @param bytesMax by default no limit
   * @returns false if the workspace has `bytesMax` bytes or more without these jobs: then they are not counted, and must not be queued
   */
  add(workspaceId: string, jobs: readonly WebhookJob[], bytesMax?: number): Promise<boolean>;
  /** Call it when a job has ended. */
  remove(workspaceId: string, jobId: string): Promise<void>;
  /** Whether the jobs of the workspace have fewer bytes than `bytesMax`. */
  isBelow(workspaceId: string, bytesMax: number): Promise<boolean>;
  /** The bytes of the jobs of each of the webhooks, in their order. */
  bytesOf(workspaceId: string, webhookIds: readonly string[]): Promise<readonly number[]>;
  /** The ids of the counted jobs, some hundreds at a time. Every job that has bodies is counted before it is queued, until it has ended. */
  jobIds(workspaceId: string): AsyncIterable<readonly string[]>;
  /**
   * Removes the bodies of the jobs of a webhook that was disabled or deleted, and the jobs from the count. They stay in the queue, and deliver
   * nothing, even if the webhook is enabled again.
   *
   * @param readWebhook reads the webhook. If it is enabled, nothing is removed
   */
  drop(
    workspaceId: string,
    webhookId: string,
    readWebhook: () => Promise<Pick<WebhookRecord, 'disabledAt'> | undefined>,
  ): Promise<void>;
}

/** Bounds on the bytes of waiting jobs. */
export interface WaitingBounds {
  readonly ofWorkspace: number;
  readonly ofWebhook: number;
}

/** Counts the bytes of the queued jobs that name events by their ids, as {@link WaitingBodies} counts those with bodies. */
export interface WaitingIds extends Pick<WaitingBodies, 'remove'> {
  /**
   * Counts jobs that are about to be queued. A job that is counted already is not counted again.
   *
   * @param bounds by default none
   * @returns the ids of jobs that are not counted, because without these jobs the workspace has reached its bound, and the webhook its own
   */
  add(workspaceId: string, jobs: readonly WebhookJob[], bounds?: WaitingBounds): Promise<readonly string[]>;
}

/** While the waiting jobs of a workspace have this many bytes or more, a change is refused if a webhook that would get it is behind. */
export const REFUSED_FROM_BYTES = 32_000_000;

/** Memory of a job besides its data, about. */
const JOB_BYTES = 1_000;
/** TTL of a count that nothing changes. */
const KEPT_MS = 31 * 24 * 3_600_000;
const JOBS_PER_SCRIPT = 500;
/** After this time a job that is counted and not in Redis will not be queued any more. */
const QUEUED_WITHIN_SECONDS = 60;
/**
 * The field of the hash with the sum of all jobs. Fields that start with it have the sum of a webhook. The others have, by the id of a job,
 * its bytes and when it was counted, in seconds.
 */
const SUM = 'sum';
/** Lua: the field with the sum of the webhook of the job `id`. */
const SUM_OF_WEBHOOK = `'${SUM}:' .. string.match(id, '^[^-]*-')`;
const sumField = (webhookId: string) => `${SUM}:${jobIdPrefix(webhookId)}`;

/**
 * KEYS: the hash. ARGV: the bounds of the workspace and of a webhook, the TTL in milliseconds, then the id and the bytes of each job. Returns
 * the ids of the jobs that are not counted.
 */
const ADD = `
local isFull = tonumber(redis.call('HGET', KEYS[1], '${SUM}') or '0') >= tonumber(ARGV[1])
local webhookMax, now = tonumber(ARGV[2]), redis.call('TIME')[1]
local refused, sum, sums = {}, 0, {}
for index = 4, #ARGV, 2 do
  local id, bytes = ARGV[index], ARGV[index + 1]
  local ofWebhook = ${SUM_OF_WEBHOOK}
  if isFull and tonumber(redis.call('HGET', KEYS[1], ofWebhook) or '0') >= webhookMax
    and redis.call('HEXISTS', KEYS[1], id) == 0 then
    refused[#refused + 1] = id
  elseif redis.call('HSETNX', KEYS[1], id, bytes .. ' ' .. now) == 1 then
    sum = sum + bytes
    sums[ofWebhook] = (sums[ofWebhook] or 0) + bytes
  end
end
for ofWebhook, bytes in pairs(sums) do redis.call('HINCRBY', KEYS[1], ofWebhook, bytes) end
if sum > 0 then redis.call('HINCRBY', KEYS[1], '${SUM}', sum) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return refused
`;

/**
 * Removes jobs from the count. Deletes before it writes, because a full Redis refuses a script whose first write needs memory. KEYS: the
 * hash; then, for jobs of which it is not known whether they have ended, their own keys. ARGV: the ids of the jobs.
 */
const REMOVE = `
local function hasEnded(job, countedAt)
  if not job or redis.call('HEXISTS', job, 'finishedOn') == 1 then return true end
  return redis.call('EXISTS', job) == 0 and redis.call('TIME')[1] - countedAt > ${QUEUED_WITHIN_SECONDS}
end
for index, id in ipairs(ARGV) do
  local bytes, countedAt = string.match(redis.call('HGET', KEYS[1], id) or '', '^(%d+) (%d+)$')
  if bytes and hasEnded(KEYS[index + 1], countedAt) then
    redis.call('HDEL', KEYS[1], id)
    local ofWebhook = ${SUM_OF_WEBHOOK}
    if redis.call('HINCRBY', KEYS[1], ofWebhook, -tonumber(bytes)) <= 0 then redis.call('HDEL', KEYS[1], ofWebhook) end
    if redis.call('HLEN', KEYS[1]) == 1 then
      redis.call('DEL', KEYS[1])
    else
      redis.call('HINCRBY', KEYS[1], '${SUM}', -tonumber(bytes))
    end
  end
end
return 0
`;

/** What distinguishes the counts. */
interface Count {
  /** The key of the hash. */
  keyOf(workspaceId: string): string;
  /** The key that exists while no search for ended jobs may start. */
  searchedKeyOf(workspaceId: string): string;
  /** Shortest time between two searches for jobs that have ended without being removed from the count. */
  readonly searchPauseMs: number;
}

const OF_BODIES: Count = {
  keyOf: (workspaceId) => stateKey(`webhook-bodies:${workspaceId}`),
  searchedKeyOf: (workspaceId) => stateKey(`webhook-bodies-searched:${workspaceId}`),
  searchPauseMs: 10_000,
};

/** There may be many more jobs with ids: without a limit on memory, they have no bound. */
const OF_IDS: Count = {
  keyOf: (workspaceId) => stateKey(`webhook-ids:${workspaceId}`),
  searchedKeyOf: (workspaceId) => stateKey(`webhook-ids-searched:${workspaceId}`),
  searchPauseMs: 300_000,
};

const NO_BOUNDS: WaitingBounds = { ofWorkspace: Number.MAX_SAFE_INTEGER, ofWebhook: 0 };

function createCount(redis: Redis, { keyOf, searchedKeyOf, searchPauseMs }: Count) {
  async function readSums(workspaceId: string, fields: readonly string[]): Promise<number[]> {
    return (await redis.hmget(keyOf(workspaceId), ...fields)).map(Number);
  }

  async function hasLess(workspaceId: string, bytesMax: number): Promise<boolean> {
    const [bytes = 0] = await readSums(workspaceId, [SUM]);
    return bytes < bytesMax;
  }

  /** Reads the ids of counted jobs, some hundreds at a time. @param prefix what the ids start with */
  async function* countedJobs(workspaceId: string, prefix = ''): AsyncGenerator<readonly string[]> {
    let cursor = '0';
    do {
      const [next, fields] = await redis.hscan(
        keyOf(workspaceId),
        cursor,
        'MATCH',
        `${prefix}*`,
        'COUNT',
        JOBS_PER_SCRIPT,
      );
      yield fields.filter((field, index) => index % 2 === 0 && !field.startsWith(SUM));
      cursor = next;
    } while (cursor !== '0');
  }

  /**
   * Removes jobs from the count that have ended unnoticed: a process was killed between the end of a job and its removal, or between the
   * count of a job and its addition to the queue.
   */
  async function removeEnded(workspaceId: string): Promise<void> {
    for await (const ids of countedJobs(workspaceId)) {
      const jobs = ids.map((id) => jobKey(WEBHOOK_QUEUE, id));
      if (ids.length > 0) await redis.eval(REMOVE, 1 + jobs.length, keyOf(workspaceId), ...jobs, ...ids);
    }
  }

  /** Whether this call is the one that searches for ended jobs. A full Redis refuses the key: then none does. */
  async function maySearch(workspaceId: string): Promise<boolean> {
    const taken = redis.set(searchedKeyOf(workspaceId), '1', 'PX', searchPauseMs, 'NX');
    return (await taken.catch(() => null)) !== null;
  }

  async function isBelow(workspaceId: string, bytesMax: number): Promise<boolean> {
    if (await hasLess(workspaceId, bytesMax)) return true;
    if (!(await maySearch(workspaceId))) return false;
    await removeEnded(workspaceId);
    return hasLess(workspaceId, bytesMax);
  }

  /** Counts jobs. @returns those that are not counted */
  async function tryToAdd(
    workspaceId: string,
    jobs: readonly WebhookJob[],
    { ofWorkspace, ofWebhook }: WaitingBounds,
  ): Promise<string[]> {
    const refused: Promise<unknown>[] = [];
    for (const some of chunksOf(jobs, JOBS_PER_SCRIPT)) {
      const counted = some.flatMap(({ id, data }) => [id, Buffer.byteLength(data) + JOB_BYTES]);
      refused.push(redis.eval(ADD, 1, keyOf(workspaceId), ofWorkspace, ofWebhook, KEPT_MS, ...counted));
    }
    return ((await Promise.all(refused)) as string[][]).flat();
  }

  return {
    keyOf,
    countedJobs,
    readSums,
    isBelow,

    /** See {@link WaitingIds}. */
    async add(workspaceId: string, jobs: readonly WebhookJob[], bounds = NO_BOUNDS): Promise<readonly string[]> {
      const refused = await tryToAdd(workspaceId, jobs, bounds);
      if (refused.length === 0 || !(await isBelow(workspaceId, bounds.ofWorkspace))) return refused;
      return tryToAdd(workspaceId, jobs, bounds);
    },

    async remove(workspaceId: string, jobId: string): Promise<void> {
      await redis.eval(REMOVE, 1, keyOf(workspaceId), jobId);
    },
  };
}

/** Creates the count of the jobs in a queue shard that name their events by ids. @param redis its Redis; the connection may be shared */
export function createWaitingIds(redis: Redis): WaitingIds {
  return createCount(redis, OF_IDS);
}

/** Creates the count of the jobs with bodies in a queue shard. @param redis its Redis; the connection may be shared */
export function createWaitingBodies(redis: Redis): WaitingBodies {
  const { keyOf, countedJobs, readSums, isBelow, add, remove } = createCount(redis, OF_BODIES);
  return {
    async add(workspaceId, jobs, bytesMax = Number.MAX_SAFE_INTEGER) {
      return (await add(workspaceId, jobs, { ofWorkspace: bytesMax, ofWebhook: 0 })).length === 0;
    },

    remove,
    isBelow,
    jobIds: (workspaceId) => countedJobs(workspaceId),

    bytesOf: (workspaceId, webhookIds) => readSums(workspaceId, webhookIds.map(sumField)),

    async drop(workspaceId, webhookId, readWebhook) {
      // All ids are read first: jobs that are counted later may belong to a webhook that was enabled again.
      const ids: string[] = [];
      for await (const some of countedJobs(workspaceId, jobIdPrefix(webhookId))) ids.push(...some);
      if ((await readWebhook())?.disabledAt === null) return;
      for (const some of chunksOf(ids, JOBS_PER_SCRIPT)) {
        await dropEvents(redis, { workspaceId, webhookId }, some);
        await redis.eval(REMOVE, 1, keyOf(workspaceId), ...some);
      }
    },
  };
}
