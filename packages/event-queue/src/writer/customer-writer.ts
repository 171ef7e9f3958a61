import { type ClickHouseClient, insertLines, insertRows } from '@waymark/clickhouse';
import { QUEUE_TABLES } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type PendingCustomer, removePendingCustomers } from '../claims/pending-customers.js';
import type { DeadLetters } from '../queue/dead-letters.js';
import { joinRows } from '../queue/job-rows.js';
import { rowsKey } from '../queue/keys.js';
import type { QueueLogger } from '../redis/throttled-log.js';
import { isBadData } from './group-inserter.js';
import { type GroupRows, layOutRows } from './group-rows.js';
import type { WriterJob } from './group-writer.js';
import type { Persistence } from './retry.js';
import { type Inserted, outcomeOf, type StoredGroup } from './write-report.js';

export interface CustomerWriterOptions {
  readonly redis: Redis;
  readonly client: ClickHouseClient;
  readonly deadLetters: DeadLetters;
  readonly persistence: Persistence;
  readonly onStored?: ((group: StoredGroup) => void) | undefined;
  readonly logger: QueueLogger;
  readonly now: () => number;
}

const KIND = 'customer';
const NAME_COLUMNS = ['kind', 'scope', 'name', 'id', 'workspace_id', 'version', 'deleted'] as const;
const INSERT_SECONDS_MAX = 60;

/** What the row of a customer's name is made from: the first columns of a customer row, version 1. */
const wholeNumber = z.union([z.string(), z.number()]);
const customerRowSchema = z.tuple([z.string(), z.string(), wholeNumber, wholeNumber, z.string()]).rest(z.unknown());

function columnsOf(version: number): readonly string[] | undefined {
  const lists: Readonly<Record<number, readonly string[]>> = QUEUE_TABLES.customer.columns;
  return lists[version];
}

function parseRow(row: string) {
  try {
    return customerRowSchema.safeParse(JSON.parse(row)).data;
  } catch {
    return undefined;
  }
}

/** The row of `names` by which a customer is found: external id within its workspace. */
function nameRow(row: string): (string | number)[] {
  const customer = parseRow(row);
  if (customer === undefined) throw new TypeError('not a customer row');
  const [workspaceId, id, version, deleted, externalId] = customer;
  return [KIND, workspaceId, externalId, id, workspaceId, version, deleted];
}

function identityOf(row: string): PendingCustomer[] {
  const customer = parseRow(row);
  if (customer === undefined) return [];
  const [workspace, number, , , externalId] = customer;
  return [{ workspace, number, externalId }];
}

/**
 * Writes customers and their names. Rows replace older versions of themselves, so writing one again is harmless and needs
 * neither manifest nor token. The name makes a customer visible and is written last; then it is not pending any more.
 */
export function createCustomerWriter(options: CustomerWriterOptions) {
  const { redis, client, deadLetters, persistence, logger, now } = options;
  const { insist } = persistence;

  const insert = (version: number, rows: readonly string[]): Promise<number> =>
    insist(
      'inserting customers',
      async (attempt) => {
        const columns = columnsOf(version) ?? [];
        const { table } = QUEUE_TABLES.customer;
        await insertLines(client, { table, columns, lines: joinRows(rows), maxExecutionSeconds: INSERT_SECONDS_MAX });
        await insertRows(client, {
          table: 'names',
          columns: NAME_COLUMNS,
          rows: rows.map(nameRow),
          maxExecutionSeconds: INSERT_SECONDS_MAX,
        });
        return attempt + 1;
      },
      (err) => !isBadData(err),
    );

  const park = (version: number, rows: GroupRows, position: number, error: string) => {
    logger.error({ kind: KIND, jobId: rows.originOf(position).jobId }, 'a row goes to the dead letters');
    const letter = {
      ...rows.originOf(position),
      kind: KIND,
      version,
      row: rows.texts[position] ?? '',
      error,
      at: now(),
    };
    return insist('parking a row', () => deadLetters.park([{ ...letter, kind: KIND }]));
  };

  /** Inserts the rows from one position to another, in ever smaller parts once they are refused. */
  const insertPart = async (version: number, rows: GroupRows, from: number, to: number): Promise<Inserted> => {
    if (from >= to) return { attempts: 0, isSplit: false, parked: 0 };
    try {
      return { attempts: await insert(version, rows.texts.slice(from, to)), isSplit: false, parked: 0 };
    } catch (err) {
      if (!isBadData(err)) throw err;
      if (to - from === 1) {
        await park(version, rows, from, err instanceof Error ? err.message : String(err));
        return { attempts: 1, isSplit: false, parked: 1 };
      }
      const middle = Math.floor((from + to) / 2);
      const first = await insertPart(version, rows, from, middle);
      const second = await insertPart(version, rows, middle, to);
      return {
        attempts: 1 + first.attempts + second.attempts,
        isSplit: true,
        parked: first.parked + second.parked,
      };
    }
  };

  return {
    knows: (version: number) => columnsOf(version) !== undefined,

    async write(jobs: readonly WriterJob[]): Promise<void> {
      const jobIds = jobs.map(({ id }) => id);
      const texts = await insist('reading rows', () => redis.mget(...jobIds.map((id) => rowsKey(KIND, id))));
      const version = jobs[0]?.data.v ?? 0;
      const skipped = Object.fromEntries(jobs.map(({ struck }, member) => [member, struck]));
      const group = { id: '', kind: KIND, version, jobIds, skipped, at: now() } as const;
      const rows = layOutRows(group, texts, (row) => (parseRow(row) === undefined ? 'not a customer row' : undefined));
      for (const { jobId, index, row, fault } of rows.faulty) {
        const letter = { kind: KIND, version, row, error: fault, at: now(), jobId, index } as const;
        await insist('parking a row', () => deadLetters.park([letter]));
      }
      const since = now();
      const inserted = await insertPart(version, rows, 0, rows.texts.length);
      const storedAt = now();
      await insist('removing pending customers', () => removePendingCustomers(redis, rows.texts.flatMap(identityOf)));
      options.onStored?.({
        kind: KIND,
        outcome: outcomeOf({ ...inserted, parked: inserted.parked + rows.faulty.length }),
        rows: rows.texts.length,
        bytes: rows.texts.reduce((sum, text) => sum + text.length, 0),
        attempts: inserted.attempts,
        gatherMs: since - Math.min(...jobs.map(({ receivedAt }) => receivedAt)),
        insertMs: storedAt - since,
        storedAt,
        workspaces: new Map(),
      });
    },
  };
}
