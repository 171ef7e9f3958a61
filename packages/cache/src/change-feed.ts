import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { createAcknowledgements, createAcknowledger } from './acknowledgements.js';
import { createCacheLease, type FeedConnections } from './cache-lease.js';

/** Options of {@link createChangeFeed}. */
export interface ChangeFeedOptions<Change> {
  /** Name of the pub/sub channel; the names of the feed's key and of its other channels contain it. */
  readonly channel: string;
  readonly connections: FeedConnections;
  /** Parses a message; undefined when a process of another version has sent it and this version cannot read it. */
  readonly parse: (message: unknown) => Change | undefined;
  readonly logger: { warn(context: object, message: string): void };
}

/** Pause before a refused subscription is tried again. */
const RETRY_MS = 250;

/** Receives the changes that this process and others publish. */
export interface ChangeSubscriber<Change> {
  onChange(change: Change): void;
  /** Called when changes may have been missed: every cached copy may be outdated. */
  onGap(): void;
}

/** Publishes changes to every process. `Message` is the published JSON, `Change` what subscribers receive. */
export interface ChangeFeed<Message, Change> {
  /** Calls `subscriber` for every later change. Changes that this process publishes reach it before `publish` resolves. */
  subscribe(subscriber: ChangeSubscriber<Change>): void;
  /**
   * Publishes a change. Resolves when no process serves copies from before the change any more, at most one lease later.
   *
   * @throws the error of the connection when the message could not be published
   */
  publish(message: Message): Promise<void>;
  /**
   * Publishes without waiting for acknowledgements, replicas, or a Redis that is away: for changes that readers may see a little later.
   *
   * @throws the error of the connection when the message could not be published
   */
  publishUnacknowledged(message: Message): Promise<void>;
  /** Whether this process may serve its cached copies: it receives changes, and writers wait for its acknowledgement. */
  isSubscribed(): boolean;
  close(): Promise<void>;
}

/** The id of the process that sent a message, and the number that it awaits an acknowledgement of; undefined: none. */
interface Sender {
  readonly from: string | undefined;
  readonly awaitedNumber: number | undefined;
}

/** Reads the fields that messages of all versions have. */
function senderOf(message: unknown): Sender {
  const { from, number } = Object(message) as { from?: unknown; number?: unknown };
  return {
    from: typeof from === 'string' ? from : undefined,
    awaitedNumber: typeof from === 'string' && typeof number === 'number' ? number : undefined,
  };
}

/** Parses an acknowledgement: `[id of the lease holder, acknowledged numbers]`. */
function acknowledgementOf(message: unknown): [string, number[]] | undefined {
  if (!Array.isArray(message)) return undefined;
  const [holder, numbers] = message as unknown[];
  const isValid =
    typeof holder === 'string' && Array.isArray(numbers) && numbers.every((one) => typeof one === 'number');
  return isValid ? [holder, numbers] : undefined;
}

/** The parsed JSON; undefined when the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Publishes changes to every process, this one included, through Redis pub/sub. When `publish` resolves, no process serves copies from
 * before the change: each has evicted them and acknowledged the change, or its lease has expired.
 */
export function createChangeFeed<Message extends object, Change>({
  channel,
  connections,
  parse,
  logger,
}: ChangeFeedOptions<Change>): ChangeFeed<Message, Change> {
  const { subscriber: redis } = connections;
  const subscribers = new Set<ChangeSubscriber<Change>>();
  const lease = createCacheLease(connections, `${connections.keyPrefix}${channel}:holders`);
  const acknowledgements = createAcknowledgements();
  /** Acknowledgements go to channel `<prefix><id of the publisher>`, so that each process receives only its own. */
  const acknowledgedPrefix = `${channel}:acknowledged:`;
  const ownChannel = `${acknowledgedPrefix}${lease.id}`;

  function onGap(): void {
    for (const subscriber of subscribers) subscriber.onGap();
  }

  function deliver(message: unknown): void {
    const change = parse(message);
    if (change === undefined) onGap();
    else for (const subscriber of subscribers) subscriber.onChange(change);
  }

  const acknowledge = createAcknowledger((publisher, numbers) => {
    const message = JSON.stringify([lease.id, numbers]);
    // If this fails, the publisher waits until the lease of this process expires.
    connections.run((client) => client.publish(`${acknowledgedPrefix}${publisher}`, message)).catch(() => undefined);
  });

  redis.on('message', (receivedOn: string, text: string) => {
    const message = parseJson(text);
    if (receivedOn === ownChannel) {
      const acknowledged = acknowledgementOf(message);
      if (acknowledged !== undefined) acknowledgements.received(...acknowledged);
      return;
    }
    const { from, awaitedNumber } = senderOf(message);
    if (from === lease.id) return;
    deliver(message);
    if (from !== undefined && awaitedNumber !== undefined) acknowledge(from, awaitedNumber);
  });

  /** Identifies the open connection: a new symbol for each; undefined while there is none. */
  let connection: symbol | undefined;

  /** Subscribes on the open connection, and tries again until it succeeds or the connection closes. */
  async function listen(): Promise<void> {
    const own = Symbol('connection');
    connection = own;
    for (let attempt = 1; connection === own; attempt++) {
      try {
        await redis.subscribe(channel, ownChannel);
        if (connection !== own) return;
        // Evicts after subscribing: with the opposite order, a change between the two would be missed.
        onGap();
        lease.subscribed();
        return;
      } catch (err) {
        if (attempt === 1)
          logger.warn(
            { err },
            'could not subscribe to changes; this process uses no cached copies until it is subscribed',
          );
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  function disconnected(): void {
    connection = undefined;
    lease.unsubscribed();
  }
  redis.on('ready', () => void listen());
  if (redis.status === 'ready') void listen();
  redis.on('close', disconnected);

  return {
    subscribe: (subscriber) => void subscribers.add(subscriber),

    async publish(message) {
      deliver(message);
      await acknowledgements.publish(async (number) => {
        const holders = await lease.publish(channel, JSON.stringify({ ...message, from: lease.id, number }));
        return holders.filter(({ id }) => id !== lease.id);
      });
    },

    async publishUnacknowledged(message) {
      deliver(message);
      const text = JSON.stringify({ ...message, from: lease.id });
      const publish = (client: Redis) => client.publish(channel, text);
      // `tryRun` first: a command of `runAtOnce` may stand behind a wait for replicas. But after a slow answer `tryRun` sends nothing for a while.
      if ((await connections.tryRun(publish)) === undefined) await connections.runAtOnce(publish);
    },

    isSubscribed: lease.isHeld,

    async close() {
      disconnected();
      await lease.close();
    },
  };
}
