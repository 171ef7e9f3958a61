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

/** A ping that comes back says that what was announced before it was heard. */
const PING_EVERY_MS = 500;
const HEARD_MS_MAX = 1500;

/** Announces changes to every process, this one included, through Redis pub/sub. */
export function createInvalidations(redis: RedisConnections, listener: CatalogWatcher, logger: CatalogLogger) {
  const { subscriber } = redis;
  /** Up to when everything announced was heard. */
  let heardUntilMs = Number.NEGATIVE_INFINITY;
  let isSubscribed = false;

  subscriber.on('message', (_channel: string, text: string) => {
    const change = parseChange(text);
    if (change === undefined) listener.missed();
    else listener.changed(change);
  });

  async function listen(): Promise<void> {
    try {
      const askedMs = performance.now();
      await subscriber.subscribe(CHANNEL);
      // Only after the subscription stands: what changes between a clearing and it would be missed.
      listener.missed();
      isSubscribed = true;
      heardUntilMs = askedMs;
    } catch (err) {
      logger.warn({ err }, 'catalog could not subscribe to changes; caches rely on their second');
    }
  }
  subscriber.on('ready', () => void listen());
  if (subscriber.status === 'ready') void listen();
  subscriber.on('close', () => {
    isSubscribed = false;
    heardUntilMs = Number.NEGATIVE_INFINITY;
  });

  let isPinging = false;
  async function ping(): Promise<void> {
    if (!isSubscribed || isPinging) return;
    isPinging = true;
    const askedMs = performance.now();
    try {
      await subscriber.ping();
      if (isSubscribed) heardUntilMs = askedMs;
    } catch {
      // The connection is gone, which its end has told.
    } finally {
      isPinging = false;
    }
  }
  const pinging = setInterval(() => void ping(), PING_EVERY_MS).unref();

  return {
    async announce(change: Partial<CatalogChange>): Promise<void> {
      // Here at once: whoever was answered may ask this process before its own message comes back to it.
      listener.changed({ names: [], records: [], counted: [], ...change });
      await redis.insist((client) => client.publish(CHANNEL, JSON.stringify(change)));
    },

    /** Whether announcements arrive: what is cleared by them alone may be believed. */
    isHearing: (): boolean => performance.now() - heardUntilMs < HEARD_MS_MAX,

    close: () => clearInterval(pinging),
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
