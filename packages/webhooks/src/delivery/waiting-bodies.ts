import type { WebhookRecord } from '@waymark/catalog';
import { jobKey, stateKey, WEBHOOK_QUEUE, type WebhookJob } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { dropEvents } from './job-data.js';
import { jobIdPrefix } from './webhook-job.js';

/**
 * Counts the bytes of the queued jobs that contain bodies, by workspace and webhook, in the Redis of their queue shard. Jobs that name
 * events by their ids are not counted.
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

/** While the waiting jobs of a workspace have this many bytes or more, a change is refused if a webhook that would get it is behind. */
export const REFUSED_FROM_BYTES = 32_000_000;

/** Memory of a job besides its data, about. */
const JOB_BYTES = 1_000;
/** TTL of a count that nothing changes. */
const KEPT_MS = 31 * 24 * 3_600_000;
/** Shortest time between two searches for jobs that have ended without being removed from the count. */
const SEARCH_PAUSE_MS = 10_000;
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

/** KEYS: the hash. ARGV: the limit, the TTL in milliseconds, then the id and the bytes of each job. */
const ADD = `
local sum, added = tonumber(redis.call('HGET', KEYS[1], '${SUM}') or '0'), {}
for index = 3, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[1], ARGV[index]) == 0 then added[#added + 1] = index end
end
if #added > 0 and sum >= tonumber(ARGV[1]) then return 0 end
for _, index in ipairs(added) do
  local id, bytes = ARGV[index], ARGV[index + 1]
  redis.call('HSET', KEYS[1], id, bytes .. ' ' .. redis.call('TIME')[1])
  redis.call('HINCRBY', KEYS[1], '${SUM}', bytes)
  redis.call('HINCRBY', KEYS[1], ${SUM_OF_WEBHOOK}, bytes)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
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

/** Creates the count of a queue shard. @param redis its Redis; the connection may be shared */
export function createWaitingBodies(redis: Redis): WaitingBodies {
  const keyOf = (workspaceId: string) => stateKey(`webhook-bodies:${workspaceId}`);

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

  /** Whether this call is the one that searches for ended jobs. */
  async function maySearch(workspaceId: string): Promise<boolean> {
    const key = stateKey(`webhook-bodies-searched:${workspaceId}`);
    return (await redis.set(key, '1', 'PX', SEARCH_PAUSE_MS, 'NX')) !== null;
  }

  async function isBelow(workspaceId: string, bytesMax: number): Promise<boolean> {
    if (await hasLess(workspaceId, bytesMax)) return true;
    if (!(await maySearch(workspaceId))) return false;
    await removeEnded(workspaceId);
    return hasLess(workspaceId, bytesMax);
  }

  return {
    async add(workspaceId, jobs, bytesMax = Number.MAX_SAFE_INTEGER) {
      const counted = jobs.flatMap(({ id, data }) => [id, Buffer.byteLength(data) + JOB_BYTES]);
      const tryToAdd = async () => (await redis.eval(ADD, 1, keyOf(workspaceId), bytesMax, KEPT_MS, ...counted)) === 1;
      return (await tryToAdd()) || ((await isBelow(workspaceId, bytesMax)) && (await tryToAdd()));
    },

    async remove(workspaceId, jobId) {
      await redis.eval(REMOVE, 1, keyOf(workspaceId), jobId);
    },

    isBelow,

    bytesOf: (workspaceId, webhookIds) => readSums(workspaceId, webhookIds.map(sumField)),

    async drop(workspaceId, webhookId, readWebhook) {
      // All ids are read first: jobs that are counted later may belong to a webhook that was enabled again.
      const ids: string[] = [];
      for await (const some of countedJobs(workspaceId, jobIdPrefix(webhookId))) ids.push(...some);
      if ((await readWebhook())?.disabledAt === null) return;
      for (let start = 0; start < ids.length; start += JOBS_PER_SCRIPT) {
        const some = ids.slice(start, start + JOBS_PER_SCRIPT);
        await dropEvents(redis, { workspaceId, webhookId }, some);
        await redis.eval(REMOVE, 1, keyOf(workspaceId), ...some);
      }
    },
  };
}
