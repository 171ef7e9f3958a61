import type { ErasedPeople } from '@waymark/catalog';
import { jobKey, queueKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { jobText, type OutgoingEvent, readJobData, type WebhookJobData } from './webhook-job.js';

/** What of a body says whose event it is. */
const bodySchema = z.object({
  data: z.object({
    customer: z.object({ id: z.string() }).optional(),
    click: z.object({ id: z.string() }).optional(),
  }),
});

/** Whether the body is of a person who was erased lately. */
export function isErasedEvent(people: ErasedPeople, workspaceId: string, { body }: OutgoingEvent): boolean {
  const { customer, click } = bodySchema.safeParse(JSON.parse(body)).data?.data ?? {};
  if (customer !== undefined) return people.modeOfId(workspaceId, customer.id) !== undefined;
  return click !== undefined && people.modeOfClickId(workspaceId, click.id) !== undefined;
}

const JOBS_AT_ONCE = 500;
/** Replaces the data of a job that still exists. KEYS: the job. ARGV: the data. */
const REPLACE_DATA = `
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'data', ARGV[1]) end
return 0
`;

async function jobIds(redis: Redis): Promise<string[]> {
  const lists = await Promise.all([
    redis.lrange(queueKey(WEBHOOK_QUEUE, 'wait'), 0, -1),
    redis.lrange(queueKey(WEBHOOK_QUEUE, 'active'), 0, -1),
    redis.zrange(queueKey(WEBHOOK_QUEUE, 'delayed'), '0', '-1'),
    // Finished jobs are kept for a while, so that they are not added twice.
    redis.zrange(queueKey(WEBHOOK_QUEUE, 'completed'), '0', '-1'),
  ]);
  return lists.flat();
}

function parse(data: string): WebhookJobData | undefined {
  try {
    return readJobData(JSON.parse(data));
  } catch {
    return undefined;
  }
}

/**
 * Removes the bodies of people who were erased from the queued and the finished jobs of a queue shard. Events that a job names by their
 * id are left out when it runs (see `event-bodies.ts`).
 */
export async function eraseWebhookJobs(redis: Redis, people: ErasedPeople): Promise<void> {
  const ids = await jobIds(redis);
  for (let start = 0; start < ids.length; start += JOBS_AT_ONCE) {
    const keys = ids.slice(start, start + JOBS_AT_ONCE).map((id) => jobKey(WEBHOOK_QUEUE, id));
    const texts = await Promise.all(keys.map((key) => redis.hget(key, 'data')));
    for (const [index, key] of keys.entries()) {
      const data = parse(texts[index] ?? '');
      if (data === undefined || data.events.length === 0) continue;
      const events = data.events.filter((event) => !isErasedEvent(people, data.workspaceId, event));
      if (events.length < data.events.length) await redis.eval(REPLACE_DATA, 1, key, jobText({ ...data, events }));
    }
  }
}
