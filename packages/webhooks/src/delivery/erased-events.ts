import type { ErasedPeople } from '@waymark/catalog';
import { chunksOf } from '@waymark/contract';
import { execute, jobKey, queueKey, WEBHOOK_QUEUE } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { replaceJobData } from './job-data.js';
import { createWaitingBodies } from './waiting-jobs.js';
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

/** The JSON of a job without bodies has this; inside of its strings, quotes are escaped. */
const WITHOUT_BODIES = '"told":[]';

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
    const data = text.includes(WITHOUT_BODIES) ? undefined : parse(text);
    if (data === undefined) return;
    const events = data.events.filter((event) => !isErasedEvent(people, data.workspaceId, event));
    if (events.length === data.events.length) return;
    if (await replaceJobData(redis, jobId, text, { ...data, events })) return;
  }
}

async function eraseJobs(redis: Redis, people: ErasedPeople, ids: readonly string[]): Promise<void> {
  for (const some of chunksOf(ids, JOBS_AT_ONCE)) await Promise.all(some.map((id) => eraseJob(redis, people, id)));
}

/**
 * Removes the bodies of people who were erased from the jobs of a workspace that wait or run. Events that a job lists by their ids are left
 * out when it runs (see `event-bodies.ts`).
 *
 * @param redis the queue shard of the workspace
 */
export async function eraseWaitingBodies(redis: Redis, people: ErasedPeople, workspaceId: string): Promise<void> {
  for await (const ids of createWaitingBodies(redis).jobIds(workspaceId)) await eraseJobs(redis, people, ids);
}

/**
 * The same for all jobs of a queue shard: also for ended jobs whose bodies Redis has not removed, and for those that an
 * earlier release has queued. It reads the jobs of all workspaces.
 */
export async function eraseWebhookJobs(redis: Redis, people: ErasedPeople): Promise<void> {
  await eraseJobs(redis, people, await jobIds(redis));
}
