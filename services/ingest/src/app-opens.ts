import { createHmac } from 'node:crypto';
import type { LinkRecord } from '@waymark/catalog';
import type { Redis } from 'ioredis';

/** A click that led to an app store. */
export interface StoreClick {
  readonly clickId: string;
  readonly workspaceId: string;
  readonly linkId: string;
}

/**
 * Clicks that led to an app store, by domain and address, for an hour: at its first start the installed app looks up the link that led
 * to it. What is lost with Redis is an attribution that was a guess.
 */
export interface AppOpens {
  /** Does not wait, and never throws. */
  remember(link: LinkRecord, address: string, clickId: string): void;
  find(domain: string, address: string): Promise<StoreClick | undefined>;
}

export interface AppOpensOptions {
  readonly redis: Pick<Redis, 'get' | 'set'>;
  /** Keeps addresses out of Redis. */
  readonly secret: Buffer;
  readonly logger: { warn(context: object, message: string): void };
}

const REMEMBERED_MS = 3_600_000;

export function createAppOpens({ redis, secret, logger }: AppOpensOptions): AppOpens {
  const keyOf = (domain: string, address: string) =>
    `waymark:app-open:${createHmac('sha256', secret).update(`${domain}\0${address}`).digest('base64url')}`;
  return {
    remember({ id, workspaceId, domain }, address, clickId) {
      const click: StoreClick = { clickId, workspaceId, linkId: id };
      redis.set(keyOf(domain, address), JSON.stringify(click), 'PX', REMEMBERED_MS).catch((err: unknown) => {
        logger.warn({ err, linkId: id }, 'a click to an app store is not remembered');
      });
    },
    async find(domain, address) {
      const text = await redis.get(keyOf(domain, address));
      return text === null ? undefined : (JSON.parse(text) as StoreClick);
    },
  };
}
