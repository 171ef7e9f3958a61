import type { ErasedPeople } from '@waymark/catalog';
import { jobKey, queueKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { replaceJobData } from './job-data.js';
import { type OutgoingEvent, readJobData, type WebhookJobData } from './webhook-job.js';

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
    const some = ids.slice(start, start + JOBS_AT_ONCE);
    const texts = await Promise.all(some.map((id) => redis.hget(jobKey(WEBHOOK_QUEUE, id), 'data')));
    for (const [index, id] of some.entries()) {
      const data = parse(texts[index] ?? '');
      if (data === undefined || data.events.length === 0) continue;
      const events = data.events.filter((event) => !isErasedEvent(people, data.workspaceId, event));
      if (events.length < data.events.length) await replaceJobData(redis, id, { ...data, events });
    }
  }
}
