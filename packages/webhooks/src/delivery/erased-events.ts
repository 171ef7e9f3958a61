import type { ErasedPeople } from '@waymark/catalog';
import { execute, jobKey, queueKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { replaceJobData } from './job-data.js';
import { type OutgoingEvent, readJobData, type WebhookJobData } from './webhook-job.js';

/** The parts of a body that identify the person of the event. */
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

/** Jobs that are read at the same time. One may have 170 kB. */
const JOBS_AT_ONCE = 50;

/** The ids of all jobs, in one transaction: a job that moves between two lists while they are read would be in neither. */
async function jobIds(redis: Redis): Promise<readonly string[]> {
  const lists = await execute(
    redis
      .multi()
      .lrange(queueKey(WEBHOOK_QUEUE, 'wait'), 0, -1)
      .lrange(queueKey(WEBHOOK_QUEUE, 'active'), 0, -1)
      .zrange(queueKey(WEBHOOK_QUEUE, 'delayed'), '0', '-1')
      // Finished jobs are kept for a while, so that they are not added twice.
      .zrange(queueKey(WEBHOOK_QUEUE, 'completed'), '0', '-1'),
  );
  return (lists as readonly string[][]).flat();
}

function parse(data: string): WebhookJobData | undefined {
  try {
    return readJobData(JSON.parse(data));
  } catch {
    return undefined;
  }
}

/** Removes the bodies of erased people from a job. */
async function eraseJob(redis: Redis, people: ErasedPeople, jobId: string): Promise<void> {
  // Repeated when the job has changed since it was read. It has fewer bodies then, so this ends.
  for (;;) {
    const text = (await redis.hget(jobKey(WEBHOOK_QUEUE, jobId), 'data')) ?? '';
    const data = parse(text);
    if (data === undefined) return;
    const events = data.events.filter((event) => !isErasedEvent(people, data.workspaceId, event));
    if (events.length === data.events.length) return;
    if (await replaceJobData(redis, jobId, text, { ...data, events })) return;
  }
}

/**
 * Removes the bodies of people who were erased from the queued and the finished jobs of a queue shard. Events that a job lists by their
 * ids are left out when it runs (see `event-bodies.ts`).
 */
export async function eraseWebhookJobs(redis: Redis, people: ErasedPeople): Promise<void> {
  const ids = await jobIds(redis);
  for (let start = 0; start < ids.length; start += JOBS_AT_ONCE) {
    await Promise.all(ids.slice(start, start + JOBS_AT_ONCE).map((id) => eraseJob(redis, people, id)));
  }
}
