import type { EventProducer } from '@waymark/event-queue';
import { expect, it } from 'vitest';
import { clickProducer, clickSource } from '../src/click-producer.js';

/** Producers of two shards, of which only what these functions use is there. */
const producer = (fields: Partial<EventProducer> = {}) => fields as EventProducer;

function depsWith(pick: () => Promise<never> | undefined, known?: EventProducer) {
  const producers = [producer(), producer()] as const;
  return { producers, catalog: { queueShards: { count: 2, pickKnown: () => known, pick } } } as never as Parameters<
    typeof clickProducer
  >[0];
}

it('a click goes to the shard of its workspace at once if it is known, and through shard 0 while no store can say it', async () => {
  const own = producer();
  expect(
    clickProducer(
      depsWith(() => undefined, own),
      'ws',
    ),
  ).toBe(own);
  const unknown = depsWith(() => Promise.reject(new Error('no store answers')));
  expect(await clickProducer(unknown, 'ws')).toBe(unknown.producers[0]);
});

it('a click of another shard is looked for in shard 0 as well, and is not gone while it may be queued there', async () => {
  const first = producer({ findQueuedClick: async () => '["row"]', oldestQueuedMs: async () => 5 });
  const own = producer({ findQueuedClick: async () => undefined, oldestQueuedMs: async () => 9 });
  const source = clickSource({ producers: [first, own] }, own);
  expect(await source.findQueuedClick('id')).toBe('["row"]');
  expect(await source.oldestQueuedMs('click')).toBe(5);
  expect(clickSource({ producers: [first, own] }, first)).toBe(first);
});

it('the age of the queue is an error while shard 0 is away, because the click may be queued there', async () => {
  const first = producer({ oldestQueuedMs: () => Promise.reject(new Error('away')) });
  const own = producer({ oldestQueuedMs: async () => undefined });
  await expect(clickSource({ producers: [first, own] }, own).oldestQueuedMs('click')).rejects.toThrow('away');
});
