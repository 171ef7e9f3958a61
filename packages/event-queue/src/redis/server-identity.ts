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

/** Reads the identity on every new connection. */
export function watchServerIdentity(redis: Redis): ServerIdentity {
  let identity = '';
  let connections = 0;

  const read = async () => {
    const connection = connections;
    try {
      const info = await redis.info();
      const parts = [infoField(info, 'run_id'), infoField(info, 'master_replid')];
      if (connection !== connections || parts[0] === undefined) return;
      identity = hash('sha256', parts.join('/'), 'hex').slice(0, 16);
    } catch {
      // The connection is gone, and the next one is read again; or INFO is refused, and the identity stays unknown.
    }
  };

  redis.on('close', () => {
    connections += 1;
    identity = '';
  });
  redis.on('ready', () => void read());
  if (redis.status === 'ready') void read();
  return { current: () => identity };
}
