import { createDataLoader, pollUntil } from '@waymark/cache';
import { resourceIdTime } from '@waymark/contract';
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
import type { CustomerRecord } from '../model/record-schemas.js';
import { storableText } from '../model/storable-text.js';
import type { RedisConnections } from '../redis/connections.js';
import { parseData } from '../store/record-table.js';
import type { NameClaim } from '../store/unique-names.js';
import type { Peek, PendingRecords } from './pending-records.js';

/** More wait only while the writer is away. */
const LISTED_MAX = 1_000;
/** The writer is waited for so long to get below that. */
const WRITTEN = { withinMs: 2_000, everyMs: 50 };
const IDS_PER_READ = 1_000;

interface CustomerKey {
  readonly workspaceId: string;
  readonly number: string;
}

type Ask = <T>(command: (redis: Redis) => Promise<T>) => Promise<T>;

/** Customers that `/track` has made and the writer has not written yet. */
export function createPendingCustomers(redis: RedisConnections, now: () => number): PendingRecords<CustomerRecord> {
  const parse = (text: string) => parseData(customerType, text);

  /** @throws Error when Redis does not answer at once */
  const tryRun: Ask = async (command) => {
    const answer = await redis.tryRun(async (client) => ({ value: await command(client) }));
    if (answer === undefined) throw new Error('Redis does not answer');
    return answer.value;
  };

  function createLook(ask: Ask) {
    return createDataLoader<CustomerKey, CustomerRecord>({
      identify: ({ workspaceId, number }) => `${workspaceId}/${number}`,
      group: ({ workspaceId }) => workspaceId,
      async load(keys) {
        const workspaceId = keys[0]?.workspaceId ?? '';
        const numbers = keys.map(({ number }) => number);
        const texts = await ask((client) => readPendingCustomers(client, numberOf('workspace', workspaceId), numbers));
        return new Map([...texts].map(([number, text]) => [`${workspaceId}/${number}`, parse(text)]));
      },
      batchSizeMax: IDS_PER_READ,
      concurrentReadsMax: 4,
    });
  }
  const looks = { early: createLook(tryRun), late: createLook((command) => redis.run(command)) };

  async function peekAt<T>(look: () => Promise<T | undefined>): Promise<Peek<T>> {
    try {
      return { found: await look() };
    } catch {
      return undefined;
    }
  }

  /** An older one has been written, or parked, long ago. */
  const isYoung = (id: string) => now() - (resourceIdTime('customer', id) ?? 0) < PENDING_MS_MAX;
  const keyOf = (workspaceId: string, id: string) => ({ workspaceId, number: numberOf('customer', id) });

  async function claimOf(ask: Ask, { scope, name }: Name): Promise<NameClaim | undefined> {
    const number = await ask((client) => findPendingCustomer(client, scope, storableText(name)));
    return number === undefined ? undefined : { workspaceNumber: scope, number };
  }

  return {
    peek: (workspaceId, id) =>
      isYoung(id) ? peekAt(() => looks.early(keyOf(workspaceId, id))) : Promise.resolve({ found: undefined }),
    read: async (workspaceId, id) => (isYoung(id) ? looks.late(keyOf(workspaceId, id)) : undefined),
    peekByName: (name) => peekAt(() => claimOf(tryRun, name)),
    readByName: (name) => claimOf((command) => redis.run(command), name),

    async readAll(workspaceId) {
      const workspace = numberOf('workspace', workspaceId);
      const read = () => redis.run((client) => readAllPendingCustomers(client, workspace, LISTED_MAX));
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
