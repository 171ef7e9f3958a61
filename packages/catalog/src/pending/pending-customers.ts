import { createDataLoader, pollUntil } from '@waymark/cache';
import { formatResourceId, resourceIdTime } from '@waymark/contract';
import {
  findPendingCustomer,
  PENDING_MS_MAX,
  readAllPendingCustomers,
  readPendingCustomers,
} from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { type Name, numberOf } from '../model/entity-type.js';
import { customerType } from '../model/entity-types.js';
import { unavailable } from '../model/errors.js';
import { parseData } from '../model/parse-record.js';
import type { CustomerRecord } from '../model/record-schemas.js';
import { storableText } from '../model/storable-text.js';
import type { CommandConnections } from '../redis/connections.js';
import type { NameRow } from '../store/unique-names.js';
import type { QueueShards } from '../workspaces/queue-shards.js';
import type { Peek, PendingRecords } from './pending-records.js';

/** Maximum number of pending customers that are listed. There are more only while the writer is away. */
const LISTED_MAX = 1_000;
/** How long a list waits until the writer has reduced their number to {@link LISTED_MAX}. */
const WRITTEN = { withinMs: 2_000, everyMs: 50 };
const IDS_PER_READ = 1_000;

interface CustomerKey {
  readonly workspaceId: string;
  readonly number: string;
}

type Queue = Pick<CommandConnections, 'tryRead' | 'run'>;
type RunCommand = <T>(command: (redis: Redis) => Promise<T>) => Promise<T>;

const parse = (text: string) => parseData(customerType, text);

function createLoader(runCommand: RunCommand) {
  return createDataLoader<CustomerKey, CustomerRecord>({
    identify: ({ workspaceId, number }) => `${workspaceId}/${number}`,
    group: ({ workspaceId }) => workspaceId,
    async load(keys) {
      const workspaceId = keys[0]?.workspaceId ?? '';
      const numbers = keys.map(({ number }) => number);
      const texts = await runCommand((client) =>
        readPendingCustomers(client, numberOf('workspace', workspaceId), numbers),
      );
      return new Map([...texts].map(([number, text]) => [`${workspaceId}/${number}`, parse(text)]));
    },
    batchSizeMax: IDS_PER_READ,
    concurrentReadsMax: 4,
  });
}

/** Reads one queue shard. Its reads share nothing with those of other shards, so that they do not wait for one that is away. */
function createShardReader(queue: Queue) {
  const run: RunCommand = (command) => queue.run(command);
  /** @throws Error when Redis does not answer at once */
  const tryRead: RunCommand = async (command) => {
    const answer = await queue.tryRead(async (client) => ({ value: await command(client) }));
    if (answer === undefined) throw new Error('Redis does not answer');
    return answer.value;
  };
  return { run, tryRead, peek: createLoader(tryRead), read: createLoader(run) };
}

/**
 * Reads the pending customers: those that `/track` has created and the writer has not inserted yet (docs/reference/consistency.md).
 *
 * @param queues one for each queue shard, by number
 */
export function createPendingCustomers(
  queues: readonly Queue[],
  queueShards: Pick<QueueShards, 'pick'>,
  now: () => number,
): PendingRecords<CustomerRecord> {
  const readers = queues.map(createShardReader);
  const readerOf = (workspaceId: string) => queueShards.pick(readers, workspaceId);

  async function peekAt<T>(read: () => Promise<T | undefined>): Promise<Peek<T>> {
    try {
      return { found: await read() };
    } catch {
      return undefined;
    }
  }

  /** Whether the customer may still be pending. An older one has been inserted, or is a dead letter. */
  const isYoung = (id: string) => now() - (resourceIdTime('customer', id) ?? 0) < PENDING_MS_MAX;
  const keyOf = (workspaceId: string, id: string) => ({ workspaceId, number: numberOf('customer', id) });

  async function rowOf(how: 'tryRead' | 'run', { scope, name }: Name): Promise<NameRow | undefined> {
    const reader = await readerOf(formatResourceId('workspace', scope));
    const number = await reader[how]((client) => findPendingCustomer(client, scope, storableText(name)));
    return number === undefined ? undefined : { workspaceNumber: scope, number };
  }

  return {
    peek: (workspaceId, id) =>
      isYoung(id)
        ? peekAt(async () => (await readerOf(workspaceId)).peek(keyOf(workspaceId, id)))
        : Promise.resolve({ found: undefined }),
    read: async (workspaceId, id) =>
      isYoung(id) ? (await readerOf(workspaceId)).read(keyOf(workspaceId, id)) : undefined,
    peekByName: (name) => peekAt(() => rowOf('tryRead', name)),
    readByName: (name) => rowOf('run', name),

    async readAll(workspaceId) {
      const workspace = numberOf('workspace', workspaceId);
      // Replicas must confirm an empty answer, too: a former master that is cut off lacks the customers that the new one has acknowledged.
      const { run } = await readerOf(workspaceId);
      const read = () => run((client) => readAllPendingCustomers(client, workspace, LISTED_MAX));
      let texts = await read();
      if (texts === undefined) {
        await pollUntil(async () => {
          texts = await read();
          return texts !== undefined;
        }, WRITTEN);
      }
      if (texts === undefined) throw unavailable('too many customers are waiting to be written');
      return new Map([...texts.values()].map(parse).map((record) => [record.id, record]));
    },
  };
}
