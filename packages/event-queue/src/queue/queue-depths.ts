import type { Redis } from 'ioredis';
import { DEAD_LETTER_QUEUE, QUEUE_KINDS, type QueueName, queueKey, WEBHOOK_QUEUE } from './keys.js';

/** The number of jobs in a queue, by state. */
export interface QueueDepth {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
}

async function depthOf(redis: Redis, queue: QueueName): Promise<QueueDepth> {
  const [waiting, active, delayed] = await Promise.all([
    redis.llen(queueKey(queue, 'wait')),
    redis.llen(queueKey(queue, 'active')),
    redis.zcard(queueKey(queue, 'delayed')),
  ]);
  return { waiting, active, delayed };
}

/** The depth of every queue, including the dead-letter queue, for operators. */
export async function queueDepths(redis: Redis): Promise<Readonly<Record<QueueName, QueueDepth>>> {
  const names: readonly QueueName[] = [...QUEUE_KINDS, WEBHOOK_QUEUE, DEAD_LETTER_QUEUE];
  const depths = await Promise.all(names.map(async (name) => [name, await depthOf(redis, name)] as const));
  return Object.fromEntries(depths) as Record<QueueName, QueueDepth>;
}

/** The jobs with events that are queued, in words such as `3 of click, 1 of lead`; `''` when there are none. */
export async function queuedEvents(redis: Redis): Promise<string> {
  const depths = await queueDepths(redis);
  const queued = QUEUE_KINDS.flatMap((kind) => {
    const { waiting, active, delayed } = depths[kind];
    const jobs = waiting + active + delayed;
    return jobs === 0 ? [] : [`${jobs} of ${kind}`];
  });
  return queued.join(', ');
}
