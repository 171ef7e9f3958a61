import { createAcknowledgements, createAcknowledger } from './acknowledgements.js';
import { createCacheLease, type FeedConnections } from './cache-lease.js';

export interface ChangeFeedOptions<Change> {
  /** Name of the pub/sub channel; the feed's keys and other channels begin with it. */
  readonly channel: string;
  readonly connections: FeedConnections;
  /** The change that a message stands for; undefined for one that another version has sent and this one cannot read. */
  readonly parse: (message: unknown) => Change | undefined;
  readonly logger: { warn(context: object, message: string): void };
}

/** Receives the changes that this process and others publish. */
export interface ChangeSubscriber<Change> {
  onChange(change: Change): void;
  /** Changes may have been missed: whatever is cached may be outdated. */
  onGap(): void;
}

/** Publishes changes to every process. `Message` is the JSON that is published, `Change` the value that subscribers get. */
export interface ChangeFeed<Message, Change> {
  /** Calls `subscriber` for every change from now on, those of this process before `publish` returns. */
  subscribe(subscriber: ChangeSubscriber<Change>): void;
  /**
   * Returns when no process answers from older copies any more, a lease later at most.
   *
   * @throws what the connection throws when the message could not be published
   */
  publish(message: Message): Promise<void>;
  /** Publishes without waiting for acknowledgements: for what may be seen a little later. */
  publishUnacknowledged(message: Message): Promise<void>;
  /** Whether this process may answer from its caches: it receives changes, and writers wait for its acknowledgement. */
  isSubscribed(): boolean;
  close(): Promise<void>;
}

/** The sender of a message, and the number to acknowledge, if any. */
interface Sender {
  readonly from: string | undefined;
  readonly number: number | undefined;
}

/** Fields of every message, whatever version sent it. */
function senderOf(message: unknown): Sender {
  const { from, number } = Object(message) as { from?: unknown; number?: unknown };
  return {
    from: typeof from === 'string' ? from : undefined,
    number: typeof from === 'string' && typeof number === 'number' ? number : undefined,
  };
}

/** `[holder, numbers]`, as a lease holder acknowledges them. */
function acknowledgementOf(message: unknown): [string, number[]] | undefined {
  if (!Array.isArray(message)) return undefined;
  const [holder, numbers] = message as unknown[];
  const isOurs =
    typeof holder === 'string' && Array.isArray(numbers) && numbers.every((one) => typeof one === 'number');
  return isOurs ? [holder, numbers] : undefined;
}

/** Undefined for what no version of this program has sent. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Publishes changes to every process, this one included, through Redis pub/sub. Once a change has been published no process answers
 * from a copy of before: each has evicted it and acknowledged that, or its lease has expired.
 */
export function createChangeFeed<Message extends object, Change>({
  channel,
  connections,
  parse,
  logger,
}: ChangeFeedOptions<Change>): ChangeFeed<Message, Change> {
  const { subscriber: redis } = connections;
  const subscribers = new Set<ChangeSubscriber<Change>>();
  const lease = createCacheLease(connections, `${channel}:holders`);
  const acknowledgements = createAcknowledgements();
  /** Others acknowledge to `<prefix><process>`, so that each process receives its own acknowledgements only. */
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
    // If this fails, the publisher waits until this process' lease expires.
    connections.run((client) => client.publish(`${acknowledgedPrefix}${publisher}`, message)).catch(() => undefined);
  });

  redis.on('message', (from: string, text: string) => {
    const message = parseJson(text);
    if (from === ownChannel) {
      const acknowledged = acknowledgementOf(message);
      if (acknowledged !== undefined) acknowledgements.note(...acknowledged);
      return;
    }
    const sender = senderOf(message);
    if (sender.from === lease.id) return;
    deliver(message);
    if (sender.from !== undefined && sender.number !== undefined) acknowledge(sender.from, sender.number);
  });

  async function listen(): Promise<void> {
    try {
      await redis.subscribe(channel, ownChannel);
      // Only after the subscription stands: a change between a clearing and the subscription would be missed.
      onGap();
      lease.subscribed();
    } catch (err) {
      logger.warn({ err }, 'catalog could not subscribe to changes; it uses no copies of its own');
    }
  }
  redis.on('ready', () => void listen());
  if (redis.status === 'ready') void listen();
  redis.on('close', lease.unsubscribed);

  return {
    subscribe: (subscriber) => void subscribers.add(subscriber),

    async publish(message) {
      deliver(message);
      await acknowledgements.all(async (number) => {
        const holders = await lease.publish(channel, JSON.stringify({ ...message, from: lease.id, number }));
        return holders.filter(({ id }) => id !== lease.id);
      });
    },

    async publishUnacknowledged(message) {
      deliver(message);
      const text = JSON.stringify({ ...message, from: lease.id });
      await connections.run((client) => client.publish(channel, text));
    },

    isSubscribed: lease.isHeld,

    close: lease.close,
  };
}
