import { spoolDirectoryOf } from '../spool/shard-directory.js';
import { createEventProducer, type EventProducer, type EventProducerOptions } from './event-producer.js';

/** The producers of a process, one for each queue shard. They share nothing but the limit of the spool. */
export interface EventProducers {
  /** By number of the queue shard. */
  readonly shards: readonly EventProducer[];
  /**
   * Rejects when no shard takes writes. While one does, requests should reach this process: another process could not record the events of
   * the other shards either.
   */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface EventProducersOptions extends Omit<EventProducerOptions, 'redisUrl' | 'spoolBytesElsewhere'> {
  /** By number of the queue shard. */
  readonly redisUrls: readonly string[];
}

/** Connects to every queue shard, and starts replaying the spool of each. */
export function createEventProducers({ redisUrls, ...options }: EventProducersOptions): EventProducers {
  const shards: EventProducer[] = redisUrls.map((redisUrl, shard) =>
    createEventProducer({
      ...options,
      redisUrl,
      spoolDirectory: spoolDirectoryOf(options.spoolDirectory, shard),
      spoolBytesElsewhere: () =>
        shards.reduce((sum, other, number) => (number === shard ? sum : sum + other.spoolBytes()), 0),
    }),
  );
  return {
    shards,
    async ping() {
      try {
        await Promise.any(shards.map((producer) => producer.ping()));
      } catch (err) {
        throw (err as AggregateError).errors[0];
      }
    },
    async close() {
      await Promise.all(shards.map((producer) => producer.close()));
    },
  };
}
