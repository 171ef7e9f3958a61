import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { infoField } from './info.js';

/** Identifies the data of a Redis server, for what must not be trusted after a restart, a failover or a restored snapshot. */
export interface ServerIdentity {
  /**
   * A text that no other server process has, nor this one after a failover; empty until it is known. Valid for commands that are sent
   * in the same turn of the event loop: every new connection makes it unknown first.
   */
  current(): string;
}

/**
 * A server gets a new replication id when its first replica comes, without losing anything and without closing connections. It is read
 * again this often, so that processes with older and with newer connections soon agree.
 */
const REFRESH_MS = 60_000;

/** Reads the identity on every new connection, and again after a minute of use. */
export function watchServerIdentity(redis: Redis): ServerIdentity {
  let identity = '';
  let connections = 0;
  let readAtMs = 0;

  const read = async () => {
    const connection = connections;
    readAtMs = performance.now();
    try {
      const info = await redis.info();
      const parts = [infoField(info, 'run_id'), infoField(info, 'master_replid')];
      if (connection !== connections || parts[0] === undefined) return;
      identity = hash('sha256', parts.join('/'), 'hex').slice(0, 16);
    } catch {
      // The connection is gone, and the next one is read again; or INFO is refused, and the identity stays as it is.
    }
  };

  redis.on('close', () => {
    connections += 1;
    identity = '';
  });
  redis.on('ready', () => void read());
  if (redis.status === 'ready') void read();
  return {
    current() {
      if (identity !== '' && performance.now() > readAtMs + REFRESH_MS) void read();
      return identity;
    },
  };
}
