import { createConnection, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { createFirstCloseCheck } from './first-close.js';
import { NODE_TIMEOUT_MS, nodeConnection } from './node-connection.js';
import type { RedisNode } from './redis-address.js';

/** The hash tag of all keys on a cluster: it puts them into one slot. */
export const HASH_TAG = '{waymark}';

interface ClusterOptions extends RedisOptions {
  /** The nodes of the URL, from which the owner of the slot is queried; set by `connectRedis`. */
  readonly clusterNodes?: readonly RedisNode[];
  /** Delay in ms after failed search number `times` for the owner; null = do not search again. */
  readonly clusterRetryDelay?: (times: number) => number | null;
}

/** Minimum time between two attempts to connect. While a cluster is down, every command would otherwise open another connection. */
const CONNECT_EVERY_MS = 250;
/** The message of ioredis for a connection that was closed while it was being opened. */
const CLOSED = 'Connection is closed.';

/** Queries from `node` the owner of the slot of {@link HASH_TAG}, and all masters. @throws Error when the slot has no owner */
async function queryOwner(node: RedisNode, options: RedisOptions) {
  const redis = nodeConnection(node, options);
  try {
    await redis.connect();
    const [slot, ranges] = await Promise.all([redis.cluster('KEYSLOT', HASH_TAG), redis.cluster('SLOTS')]);
    const masters = ranges.flatMap(([first, last, master]) => {
      if (master === undefined) return [];
      const [host, port] = master;
      // A reply without a host means the host that was queried.
      const isNamed = typeof host === 'string' && host !== '' && host !== '?';
      return { isOwner: first <= slot && slot <= last, node: { host: isNamed ? host : node.host, port } };
    });
    const owner = masters.find(({ isOwner }) => isOwner)?.node;
    if (owner === undefined) throw new Error('no node of the cluster serves the slot');
    return { owner, masters: masters.map((master) => master.node) };
  } finally {
    redis.disconnect();
  }
}

/**
 * Connects to the node of a cluster that owns the slot of {@link HASH_TAG}, because all keys are in this slot. After a failover the node
 * replies MOVED or does not answer: the connection closes, and the next one goes to the new owner.
 */
export class SlotConnector extends AbstractConnector {
  readonly #options: ClusterOptions;
  /** Nodes in the order in which they are queried. */
  #nodes: readonly RedisNode[];
  readonly #isFirstClose = createFirstCloseCheck();
  #connectedMs = Number.NEGATIVE_INFINITY;

  constructor(options: unknown) {
    const clusterOptions = options as ClusterOptions;
    super(clusterOptions.disconnectTimeout ?? NODE_TIMEOUT_MS);
    this.#options = clusterOptions;
    this.#nodes = clusterOptions.clusterNodes ?? [];
  }

  override disconnect(): void {
    if (this.#isFirstClose(this.stream)) super.disconnect();
    else this.connecting = false;
  }

  /** Called by ioredis with the reply to INFO on a new connection. Refuses a node that has become a replica, and so has lost the slot. */
  override check(info: { readonly role?: string }): boolean {
    return info.role === undefined || info.role === 'master';
  }

  /** @throws the error of the last node when none answers and `clusterRetryDelay` returns null */
  async connect(emitError: (event: string, err: Error) => void): Promise<Socket> {
    this.connecting = true;
    const waitMs = this.#connectedMs + CONNECT_EVERY_MS - performance.now();
    if (waitMs > 0) await delay(waitMs);
    this.#connectedMs = performance.now();
    const { host, port } = await this.#search(emitError);
    if (!this.connecting) throw new Error(CLOSED);
    const { tls } = this.#options;
    const socket = tls === undefined ? createConnection({ host, port }) : connectTls({ host, port, ...tls });
    this.stream = socket;
    socket.once('error', (err: Error) => {
      this.firstError = err;
    });
    return socket;
  }

  /** Queries the nodes until one answers or the connection is closed. */
  async #search(emitError: (event: string, err: Error) => void): Promise<RedisNode> {
    for (let times = 1; this.connecting; times++) {
      try {
        return await this.#findOwner();
      } catch (err) {
        const delayMs = this.#options.clusterRetryDelay?.(times) ?? null;
        if (delayMs === null) throw err;
        emitError('error', err as Error);
        await delay(delayMs);
      }
    }
    throw new Error(CLOSED);
  }

  /** @throws the error of the last node when none answers */
  async #findOwner(): Promise<RedisNode> {
    let lastError: unknown = new Error('the list of nodes is empty');
    for (const node of this.#nodes) {
      try {
        const { owner, masters } = await queryOwner(node, this.#options);
        this.#reorderNodes(node, masters);
        return owner;
      } catch (err) {
        lastError = err;
      }
    }
    throw lastError;
  }

  /**
   * Reorders the nodes for the next search. The node that has just answered comes after the other masters, because a node that was cut off
   * from the cluster answers with an outdated state. The nodes of the URL come last; nodes that are neither masters nor in the URL are
   * dropped.
   */
  #reorderNodes(answered: RedisNode, masters: readonly RedisNode[]): void {
    const seen = new Set<string>();
    const others = masters.filter(({ host, port }) => host !== answered.host || port !== answered.port);
    const seeds = this.#options.clusterNodes ?? [];
    this.#nodes = [...others, answered, ...seeds].filter(({ host, port }) => {
      const name = `${host} ${port}`;
      return !seen.has(name) && seen.add(name);
    });
  }
}
