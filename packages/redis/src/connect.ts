import { Redis, type RedisOptions } from 'ioredis';
import { parseRedisAddress, type RedisAddress } from './redis-address.js';
import { MasterConnector } from './sentinel-connector.js';
import { HASH_TAG, SlotConnector } from './slot-connector.js';

/** Error replies of a server that takes no writes, such as a replica or a former master. The command had no effect. */
const NOT_THE_MASTER = /^(?:MOVED|CLUSTERDOWN|UNBLOCKED) |READONLY You can't write/;
const SENTINEL_ANSWER_MS = 2_000;
const SEARCH_DELAY_MS_MAX = 1_000;

/**
 * Returns the function for the delay in ms before search number `times` for the server that takes writes; null = give up. It follows the
 * retry strategy of the connection, because ioredis closes a connection for good when a search gives up.
 */
function searchDelay(retryStrategy: RedisOptions['retryStrategy']) {
  return (times: number) => (retryStrategy ?? defaultDelay)(times) ?? null;
}

const defaultDelay = (times: number) => Math.min(50 * times, SEARCH_DELAY_MS_MAX);

function addressOptions(address: RedisAddress, { retryStrategy }: RedisOptions): RedisOptions {
  if (address.kind === 'server') return {};
  if (address.kind === 'socket') {
    const { path, database: db, username, password } = address;
    return { path, db, ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  }
  const { username, password, usesTls } = address;
  const common: RedisOptions = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(usesTls && { tls: {} }),
  };
  if (address.kind === 'cluster') {
    return Object.assign(common, {
      Connector: SlotConnector,
      clusterNodes: address.nodes,
      clusterRetryDelay: searchDelay(retryStrategy),
    });
  }
  const { sentinels, master, database, sentinelUsername, sentinelPassword } = address;
  return {
    ...common,
    Connector: MasterConnector as NonNullable<RedisOptions['Connector']>,
    sentinels: sentinels.map(({ host, port }) => ({ host, port })),
    name: master,
    db: database,
    // Closes the connection when the Sentinels announce another master, even if the old one still answers.
    failoverDetector: true,
    sentinelCommandTimeout: SENTINEL_ANSWER_MS,
    sentinelRetryStrategy: searchDelay(retryStrategy),
    ...(usesTls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
  };
}

/**
 * Opens a connection to the server that takes writes: the one of the URL, at a port or a unix socket, the master that Sentinels name, or the
 * node of a cluster that owns the keys of Waymark. After a failover the connection closes and is opened again to the new server, as after any loss of a
 * connection. Connections made with its `duplicate()` do the same.
 *
 * @param url any form of REDIS_URL (docs/settings.md)
 * @throws Error when the URL has none of these forms
 */
export function connectRedis(url: string, options: RedisOptions = {}): Redis {
  const address = parseRedisAddress(url);
  const all: RedisOptions = {
    reconnectOnError: (err) => NOT_THE_MASTER.test(err.message),
    ...addressOptions(address, options),
    ...options,
  };
  return address.kind === 'server' ? new Redis(address.url, all) : new Redis(all);
}

/**
 * The prefix of all keys whose names contain no hash tag. On a cluster it is a hash tag that puts these keys into one slot, because
 * scripts and transactions use several of them; elsewhere it is empty.
 */
export function keyPrefix(redis: Redis): string {
  return redis.options.Connector === SlotConnector ? `${HASH_TAG}:` : '';
}
