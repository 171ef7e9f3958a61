import { jobKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { jobText, type WebhookJobData } from './webhook-job.js';

/**
 * Replaces the data of a job that still exists. It is removed first, because a full Redis refuses HSET unless the script has written before:
 * the bodies must be taken out of a full Redis above all. KEYS: the job. ARGV: the data.
 */
const REPLACE_DATA = `
if redis.call('HDEL', KEYS[1], 'data') == 1 then redis.call('HSET', KEYS[1], 'data', ARGV[1]) end
return 0
`;

/** Replaces the data of a job, unless Redis has removed the job. */
export async function replaceJobData(redis: Redis, jobId: string, data: WebhookJobData): Promise<void> {
  await redis.eval(REPLACE_DATA, 1, jobKey(WEBHOOK_QUEUE, jobId), jobText(data));
}

/**
 * Takes the events out of a job that has nothing left to do. Redis keeps finished jobs for a while, because of their ids; with bodies, which
 * may have 100 kB and more, those of one workspace would fill the Redis that all share.
 */
export async function removeEvents(redis: Redis, jobId: string, data: WebhookJobData): Promise<void> {
  if (data.events.length > 0) await replaceJobData(redis, jobId, { ...data, eventIds: [], events: [] });
}
