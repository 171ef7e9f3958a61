import type { Redis } from 'ioredis';
import { nodeConnection } from './node-connection.js';

/** A line of INFO about a replica, such as `slave0:ip=10.0.0.2,port=6379,state=online,offset=14,lag=0`. */
const REPLICA = /^slave\d+:ip=([^,]+),port=(\d+),/gm;

/**
 * Runs `work` with a connection to each replica of a server, one after the other: at the address by which the server lists it, with the
 * credentials of the connection. Replicas of replicas are left out.
 *
 * @throws the error of the server; what `work` throws, such as the error of a replica that cannot be reached
 */
export async function forEachReplica(redis: Redis, work: (replica: Redis) => Promise<void>): Promise<void> {
  const info = await redis.info('replication');
  for (const [, host = '', port] of info.matchAll(REPLICA)) {
    const replica = nodeConnection({ host, port: Number(port) }, redis.options);
    try {
      await work(replica);
    } finally {
      replica.disconnect();
    }
  }
}
