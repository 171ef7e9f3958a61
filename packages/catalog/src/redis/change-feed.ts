import { z } from 'zod';
import type { CatalogLogger } from '../model/errors.js';
import { createAcknowledgements, createAcknowledger } from './acknowledgements.js';
import { createCopyLease } from './cache-lease.js';
import type { RedisConnections } from './connections.js';

const CHANNEL = 'waymark:catalog';

/** What a writer publishes to the other processes. Kinds are named by their table. */
const changeSchema = z.object({
  names: z.array(z.string()).default([]),
  records: z
    .array(
      z.object({
        ...{ table: z.string(), workspaceId: z.string(), id: z.string(), version: z.number() },
        isRemoved: z.boolean().default(false),
      }),
    )
    .default([]),
  /** Links and customers with new events. */
  counted: z.array(z.object({ workspaceId: z.string(), ids: z.array(z.string()) })).default([]),
});
export type CatalogChange = z.infer<typeof changeSchema>;
/** The publisher, and the number to acknowledge, if any. Read by every version of this program. */
const senderSchema = z.object({ from: z.string(), number: z.number().optional() });
/** Links and customers of a workspace whose totals have changed. */
export type Counted = CatalogChange['counted'][number];

/** Called with what was written, by this process or another. */
export interface CatalogWatcher {
  changed(change: CatalogChange): void;
  /** Changes may have been missed. */
  missed(): void;
}

/** Others acknowledge to `<prefix><process>`, so that each process receives its own acknowledgements only. */
const ACKNOWLEDGED_PREFIX = 'waymark:catalog:acknowledged:';
const acknowledgedSchema = z.tuple([z.string(), z.array(z.number())]);

/**
 * Publishes changes to every process, this one included, through Redis pub/sub. Once a change has been published no process answers
 * from a copy of before: each has dropped it and said so, or has lost its lease.
 */
export function createInvalidations(redis: RedisConnections, listener: CatalogWatcher, logger: CatalogLogger) {
  const { subscriber } = redis;
  const lease = createCopyLease(redis);
  const acknowledgements = createAcknowledgements();
  const ownChannel = `${ACKNOWLEDGED_PREFIX}${lease.id}`;

  const acknowledge = createAcknowledger((announcer, numbers) => {
    const message = JSON.stringify([lease.id, numbers]);
    // Unsaid, it costs the announcer the rest of the lease.
    redis.insist((client) => client.publish(`${ACKNOWLEDGED_PREFIX}${announcer}`, message)).catch(() => undefined);
  });

  subscriber.on('message', (channel: string, text: string) => {
    const message = parseJson(text);
    if (channel === ownChannel) {
      const said = acknowledgedSchema.safeParse(message).data;
      if (said !== undefined) acknowledgements.note(...said);
      return;
    }
    const sender = senderSchema.safeParse(message).data;
    if (sender?.from === lease.id) return;
    const change = changeSchema.safeParse(message).data;
    if (change === undefined) listener.missed();
    else listener.changed(change);
    if (sender?.number !== undefined) acknowledge(sender.from, sender.number);
  });

  async function listen(): Promise<void> {
    try {
      await subscriber.subscribe(CHANNEL, ownChannel);
      // Only after the subscription stands: what changes between a clearing and it would be missed.
      listener.missed();
      lease.subscribed();
    } catch (err) {
      logger.warn({ err }, 'catalog could not subscribe to changes; it uses no copies of its own');
    }
  }
  subscriber.on('ready', () => void listen());
  if (subscriber.status === 'ready') void listen();
  subscriber.on('close', lease.unsubscribed);

  /** Here at once, before the write is answered. */
  function changeHere(change: Partial<CatalogChange>): void {
    listener.changed({ names: [], records: [], counted: [], ...change });
  }

  return {
    /**
     * Returns when no process answers from older copies any more, a lease later at most.
     *
     * @throws ApiError 500 with `Retry-After` when it could not be published
     */
    async announce(change: Partial<CatalogChange>): Promise<void> {
      changeHere(change);
      await acknowledgements.all(async (number) => {
        const holders = await lease.publish(CHANNEL, JSON.stringify({ ...change, from: lease.id, number }));
        return holders.filter(({ id }) => id !== lease.id);
      });
    },

    /** Publishes without waiting for acknowledgements: for what may be seen a little later. */
    async tell(change: Partial<CatalogChange>): Promise<void> {
      changeHere(change);
      await redis.insist((client) => client.publish(CHANNEL, JSON.stringify({ ...change, from: lease.id })));
    },

    /** Whether copies of this process may be used: it receives invalidations, and writes wait for its acknowledgement. */
    isHearing: lease.isHeld,

    close: lease.close,
  };
}

/** Undefined for what no version of this program has sent. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
