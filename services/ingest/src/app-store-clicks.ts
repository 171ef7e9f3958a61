import { createHmac } from 'node:crypto';
import type { LinkRecord } from '@waymark/catalog';
import { keyPrefix } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { outageLog } from './outage-log.js';

/** A click that led to an app store. */
export interface AppStoreClick {
  readonly clickId: string;
  readonly workspaceId: string;
  readonly linkId: string;
}

/**
 * Clicks that led to an app store, stored in Redis for an hour by domain and IP address, so that the installed app can look up its link
 * on first start. Matching by address is a guess, so losing these entries with Redis is acceptable.
 */
export interface AppStoreClicks {
  /** Stores a click. Returns before it is stored, and never throws: a failure is only logged. */
  record(link: LinkRecord, address: string, clickId: string): void;
  /** The last click from this address in the last hour. Rejects with the error of Redis. */
  find(domain: string, address: string): Promise<AppStoreClick | undefined>;
}

export interface AppStoreClicksOptions {
  readonly redis: Redis;
  /** Key of the HMAC that keeps plain addresses out of Redis. */
  readonly secret: Buffer;
  readonly logger: { warn(context: object, message: string): void };
}

const TTL_MS = 3_600_000;

/** Creates the store of these clicks. It is shared by all processes of ingest, through Redis. */
export function createAppStoreClicks({ redis, secret, logger }: AppStoreClicksOptions): AppStoreClicks {
  const prefix = `${keyPrefix(redis)}waymark:app-open:`;
  const logUnstored = outageLog((context, message) => logger.warn(context, message));
  const keyOf = (domain: string, address: string) =>
    `${prefix}${createHmac('sha256', secret).update(`${domain}\0${address}`).digest('base64url')}`;
  return {
    record({ id, workspaceId, domain }, address, clickId) {
      const click: AppStoreClick = { clickId, workspaceId, linkId: id };
      redis.set(keyOf(domain, address), JSON.stringify(click), 'PX', TTL_MS).catch((err: unknown) => {
        logUnstored({ err, linkId: id }, 'a click to an app store could not be stored');
      });
    },
    async find(domain, address) {
      const text = await redis.get(keyOf(domain, address));
      return text === null ? undefined : (JSON.parse(text) as AppStoreClick);
    },
  };
}
