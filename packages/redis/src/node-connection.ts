import { Redis, type RedisOptions } from 'ioredis';
import type { RedisNode } from './redis-address.js';

/** How long a node may take to accept a connection, and to answer a command. */
export const NODE_TIMEOUT_MS = 2_000;

/** Creates a connection to one node for a few commands, with the credentials of another connection; it does not reconnect. */
export function nodeConnection(node: RedisNode, { username, password, tls }: RedisOptions): Redis {
  const redis = new Redis({
    ...node,
    username,
    password,
    tls,
    lazyConnect: true,
    retryStrategy: () => null,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: NODE_TIMEOUT_MS,
    commandTimeout: NODE_TIMEOUT_MS,
  });
  redis.on('error', () => undefined);
  return redis;
}
