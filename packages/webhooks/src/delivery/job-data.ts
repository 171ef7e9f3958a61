import { jobKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { jobText, type WebhookJobData } from './webhook-job.js';

/**
 * Replaces the data of a job. It is removed first, because a full Redis refuses HSET unless the script has written before: the bodies must
 * be taken out of a full Redis above all. KEYS: the job. ARGV: the new data; the data to replace, absent = any.
 */
const REPLACE_DATA = `
local data = redis.call('HGET', KEYS[1], 'data')
if not data or (ARGV[2] and data ~= ARGV[2]) then return 0 end
redis.call('HDEL', KEYS[1], 'data')
redis.call('HSET', KEYS[1], 'data', ARGV[1])
return 1
`;

/**
 * Replaces the data of a job, if it is still the given one: the job may have ended since it was read, or another erasure may have changed
 * it. What that end or erasure removed must not be stored again.
 *
 * @param before the text that was read
 * @returns whether the data was replaced
 */
export async function replaceJobData(
  redis: Redis,
  jobId: string,
  before: string,
  data: WebhookJobData,
): Promise<boolean> {
  return (await redis.eval(REPLACE_DATA, 1, jobKey(WEBHOOK_QUEUE, jobId), jobText(data), before)) === 1;
}

/**
 * Takes the events out of a job that has nothing left to do. Redis keeps finished jobs for a while, because of their ids; with bodies, which
 * may have 100 kB and more, those of one workspace would fill the Redis that all share.
 */
export async function removeEvents(redis: Redis, jobId: string, data: WebhookJobData): Promise<void> {
  if (data.events.length === 0) return;
  await redis.eval(REPLACE_DATA, 1, jobKey(WEBHOOK_QUEUE, jobId), jobText({ ...data, eventIds: [], events: [] }));
}

/** Like REPLACE_DATA, for several jobs. KEYS: the jobs. ARGV: the new data. */
const REPLACE_ALL = `
for _, job in ipairs(KEYS) do
  if redis.call('HDEL', job, 'data') == 1 then redis.call('HSET', job, 'data', ARGV[1]) end
end
return 0
`;

/**
 * Takes the events out of jobs of one webhook that may wait, run or have ended. Jobs that wait stay in the queue, and deliver nothing.
 *
 * @param jobIds at most some hundreds, because Redis does nothing else meanwhile
 */
export async function dropEvents(
  redis: Redis,
  webhook: Pick<WebhookJobData, 'workspaceId' | 'webhookId'>,
  jobIds: readonly string[],
): Promise<void> {
  const jobs = jobIds.map((id) => jobKey(WEBHOOK_QUEUE, id));
  // Without events the trigger has no effect.
  await redis.eval(REPLACE_ALL, jobs.length, ...jobs, jobText({ ...webhook, event: 'link.updated' }));
}
