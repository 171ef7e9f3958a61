import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisConnections } from './redis-connections.js';
import type { CatalogLogger } from './unavailable.js';

const CHANNEL = 'waymark:catalog';

/** What a writer tells the other processes. Kinds are named by their table. */
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
/** Links and customers of a workspace whose totals have changed. */
export type Counted = CatalogChange['counted'][number];

/** Is told what was written, by this process or another. */
export interface CatalogWatcher {
  changed(change: CatalogChange): void;
  /** Changes may have been missed. */
  missed(): void;
}

/** Announces changes to every process, this one included, through Redis pub/sub. */
export function createInvalidations(redis: RedisConnections, listener: CatalogWatcher, logger: CatalogLogger) {
  const { subscriber } = redis;
  subscriber.on('message', (_channel: string, text: string) => {
    const change = parseChange(text);
    if (change === undefined) listener.missed();
    else listener.changed(change);
  });
  const listen = () => void subscribe(subscriber, listener, logger);
  subscriber.on('ready', listen);
  if (subscriber.status === 'ready') listen();

  return {
    async announce(change: Partial<CatalogChange>): Promise<void> {
      // Here at once: whoever was answered may ask this process before its own message comes back to it.
      listener.changed({ names: [], records: [], counted: [], ...change });
      await redis.insist((client) => client.publish(CHANNEL, JSON.stringify(change)));
    },
  };
}

/** Undefined for what another version of this program may have sent. */
function parseChange(text: string): CatalogChange | undefined {
  try {
    return changeSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function subscribe(subscriber: Redis, listener: CatalogWatcher, logger: CatalogLogger): Promise<void> {
  try {
    await subscriber.subscribe(CHANNEL);
    // Only after the subscription stands: what changes between a clearing and it would be missed.
    listener.missed();
  } catch (err) {
    logger.warn({ err }, 'catalog could not subscribe to changes; caches rely on their second');
  }
}
