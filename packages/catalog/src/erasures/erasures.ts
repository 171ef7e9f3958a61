import type { ClickHouseClient } from '@waymark/clickhouse';
import {
  ApiError,
  ERASURE_KEPT,
  type Erasure,
  type ErasureMode,
  formatResourceId,
  parseResourceId,
  resourceIdTime,
} from '@waymark/contract';
import { everExisted } from '../clickhouse/ever-existed.js';
import { type QueryParameters, queryRows } from '../clickhouse/query-rows.js';
import { anyOf, equals, hasAnyId } from '../lists/list-conditions.js';
import { BY_CREATION } from '../lists/record-list.js';
import { numberOf } from '../model/entity-type.js';
import type { ErasureRecord } from '../model/job-record-schemas.js';
import {
  createResources,
  type Fields,
  type New,
  type ResourceDeps,
  type ResourceRules,
} from '../resources/resource.js';
import type { RecordStore, TableSettings } from '../store/record-store.js';
import { underLock } from '../store/write-context.js';
import { createErasedPeople, LATE_DAYS_MAX } from './erased-people.js';
import { readErasures } from './read-records.js';
import type { SubjectHash } from './subject-hash.js';

/** The person whose erasure is requested. */
export interface ErasureSubject {
  /** Undefined when the request named the id of a customer whose record does not exist any more. */
  readonly externalId: string | undefined;
  /** The customers, present and former, that are known to be this person. */
  readonly customerIds: readonly string[];
}

/** Filters of a list of erasures: those with one of the hashes, or with one of the customers. */
export interface ErasureFilters {
  readonly subjectHashes?: readonly string[];
  readonly customerIds?: readonly string[];
}

const RULES: ResourceRules<ErasureRecord, New<ErasureRecord, 'mode'>, ErasureFilters, 'createdAt'> = {
  title: 'erasure',
  complete: (input) => ({
    status: 'accepted',
    subjectHash: null,
    customerIds: [],
    clickIds: [],
    batch: null,
    events: 0,
    clicks: 0,
    startedAt: null,
    erasedAt: null,
    ...input,
  }),
  conditions: ({ subjectHashes = [], customerIds = [] }) => {
    const conditions = [
      ...subjectHashes.map((hash, index) => equals('subject_hash', hash, `hash_${index}`)),
      ...(customerIds.length === 0 ? [] : [hasAnyId('customer_ids', 'customer', customerIds)]),
    ];
    return conditions.length === 0 ? [] : [anyOf(conditions)];
  },
  sorts: { createdAt: BY_CREATION },
};

/** Maximum number of earlier erasures of one person that are read. */
const EARLIER_MAX = 100;
/** Limit on the open erasures that are compared to find the oldest: those whose last change is longest ago. */
const OLDEST_READ = 100;
/** How many waiting erasures are read at a time. */
const WAITING_PER_STEP = 400;
/**
 * Maximum number of clicks in the record of an erasure. Only rows that arrive later are compared with them; stored rows are found in other
 * ways.
 */
const CLICKS_MAX = 10_000;

/**
 * Erasures that a workspace may have accepted in 24 hours, of which the batches take a few thousand an hour, and in the days for which every
 * process keeps them in memory, with 600 to 800 bytes each.
 */
const BOUNDS = [
  { hours: 24, max: 20_000, period: '24 hours' },
  { hours: 24 * LATE_DAYS_MAX, max: 100_000, period: `${LATE_DAYS_MAX} days` },
] as const;
const HOUR_MS = 3_600_000;
const RETRY_SECONDS = 3_600;
/** Milliseconds are in an id from this bit on. */
const ID_TIME_BITS = 22n;

/** The clicks that leads and sales of customers name, and those that brought the customers, in all versions of their records on disk. */
const CLICKS_OF = `SELECT DISTINCT toString(click_id) FROM
(
  SELECT click_id FROM lead_events WHERE workspace_id = {workspace:UInt64} AND customer_id IN {customers:Array(UInt64)}
  UNION ALL
  SELECT click_id FROM sale_events WHERE workspace_id = {workspace:UInt64} AND customer_id IN {customers:Array(UInt64)}
  UNION ALL
  SELECT JSONExtractString(data, 'clickId') AS click_id FROM customers
  WHERE workspace_id = {workspace:UInt64} AND id IN {customers:Array(UInt64)} AND click_id != ''
) ORDER BY ALL LIMIT ${CLICKS_MAX}`;

/** Customers with an external id. Reads all versions of records, so that former customers are found as long as their rows are on disk. */
const CUSTOMERS_WITH_EXTERNAL_ID = `SELECT DISTINCT toString(id) FROM customers
WHERE workspace_id = {workspace:UInt64} AND external_id = {externalId:String}`;

/** Rows of removals have the time as their version, and are not erased. */
const REMOVED_AT = `SELECT toString(max(version)) FROM customers
WHERE workspace_id = {workspace:UInt64} AND id IN {customers:Array(UInt64)} AND deleted = 1`;

const HAS_EVENTS = `SELECT 1 FROM lead_events WHERE workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64} LIMIT 1
UNION ALL SELECT 1 FROM sale_events WHERE workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64} LIMIT 1`;

const union = (one: readonly string[], other: readonly string[]) => [...new Set([...one, ...other])];

/** A text that sorts erasures by their last change. */
const waitsSince = ({ updatedAt, id }: ErasureRecord) => `${updatedAt} ${id}`;

/** How many ids the running batch of an erasure has. */
const countInBatch = ({ inBatch, customerIds, clickIds }: ErasureRecord) =>
  inBatch ?? { customers: customerIds.length, clicks: clickIds.length };

/** Dependencies of {@link createErasures}. */
export interface ErasuresDeps extends ResourceDeps {
  readonly clickhouse: ClickHouseClient;
  readonly settings: TableSettings;
  readonly subjects: SubjectHash;
  readonly isSubscribed: () => boolean;
}

/** The operations on erasures of people (docs/reference/erasure.md). */
export function createErasures(store: RecordStore<ErasureRecord>, deps: ErasuresDeps) {
  const { clickhouse, settings, subjects, isSubscribed, now } = deps;
  const { get, require, list, create, update } = createResources(store, RULES, deps);
  const read = async (query: string, parameters: QueryParameters) =>
    (await queryRows<[string]>(clickhouse, { query, parameters, settings: settings.read })).map(([value]) => value);

  const { selectByNumbers } = store.table;
  const people = createErasedPeople({
    subjects,
    isSubscribed,
    now,
    versions: () =>
      store.table.versionsEverywhere(`status != 'erased' OR created_at > now() - INTERVAL ${LATE_DAYS_MAX} DAY`),
    read: selectByNumbers,
  });

  /** @throws ApiError rate_limit_exceeded when the workspace has as many erasures as one of the {@link BOUNDS} allows */
  function withinBounds<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
    return BOUNDS.reduce((inner, { hours, max, period }) => {
      const message = `This workspace has ${max} new erasures in ${period}, which is the most that it may have. Repeat the request later.`;
      const request = {
        workspaceId,
        what: `${store.kind.table}:${hours}`,
        amount: 1,
        limit: max,
        used: () => store.table.countEver(workspaceId, BigInt(now() - hours * HOUR_MS) << ID_TIME_BITS, ''),
        refusal: () => new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS }),
      };
      return () => deps.quotas.within(request, inner);
    }, work)();
  }

  /** The earlier erasures of the person, newest first. */
  function earlier(workspaceId: string, { externalId, customerIds }: ErasureSubject): Promise<ErasureRecord[]> {
    const subjectHashes = externalId === undefined ? [] : subjects.all(workspaceId, externalId);
    const filters = { subjectHashes, customerIds };
    return list(workspaceId, { filters, sortBy: 'createdAt', sortOrder: 'desc', page: 1, pageSize: EARLIER_MAX });
  }

  /** Ids of the clicks of customers: those that their leads and sales name, and those that brought them; at most {@link CLICKS_MAX}. */
  async function clicksOf(workspaceId: string, customerIds: readonly string[]): Promise<string[]> {
    if (customerIds.length === 0) return [];
    const customers = customerIds.map((id) => BigInt(numberOf('customer', id)));
    return read(CLICKS_OF, { workspace: numberOf('workspace', workspaceId), customers });
  }

  return {
    get,
    require,
    list,
    update,
    people,
    clicksOf,

    /** Ids of the customers, present and former, whose rows on disk have the external id. */
    async customersWithExternalId(workspaceId: string, externalId: string): Promise<string[]> {
      if (externalId.includes('\0')) return [];
      const workspace = numberOf('workspace', workspaceId);
      return (await read(CUSTOMERS_WITH_EXTERNAL_ID, { workspace, externalId })).map((number) =>
        formatResourceId('customer', number),
      );
    },

    /** Epoch milliseconds at which the last of the customers was removed; 0 when none was. */
    async customersRemovedMs(workspaceId: string, customerIds: readonly string[]): Promise<number> {
      const customers = customerIds.map((id) => BigInt(numberOf('customer', id)));
      const [removedAt] = await read(REMOVED_AT, { workspace: numberOf('workspace', workspaceId), customers });
      return Number(removedAt ?? 0);
    },

    /** Whether the workspace has or had a customer with that id, or events of one. */
    async everHadCustomer(workspaceId: string, customerId: string): Promise<boolean> {
      const customer = parseResourceId('customer', customerId);
      if (customer === undefined) return false;
      if (await everExisted(clickhouse, settings.read, 'customer', workspaceId, customerId)) return true;
      return (await read(HAS_EVENTS, { workspace: numberOf('workspace', workspaceId), customer })).length > 0;
    },

    /**
     * Returns the erasure of a person: the latest one if it and earlier ones contain all customers of the person, or else a new one. If the
     * mode `delete` is requested and all of these anonymise, the latest is changed to `delete` if it has not begun, or else a new one is
     * created.
     *
     * @throws ApiError rate_limit_exceeded when the workspace may not have another one within 24 hours or 31 days
     */
    async accept(workspaceId: string, subject: ErasureSubject, mode: ErasureMode): Promise<ErasureRecord> {
      const { externalId, customerIds } = subject;
      const subjectHash = externalId === undefined ? null : subjects.current(workspaceId, externalId);
      const lock = await deps.locks.take([
        `erasure/${workspaceId}/${subjectHash ?? [...customerIds].sort().join('-')}`,
      ]);
      return underLock(lock, async () => {
        const before = await earlier(workspaceId, subject);
        const known = new Set(before.flatMap((erasure) => erasure.customerIds));
        const [latest] = before;
        if (latest !== undefined && customerIds.every((id) => known.has(id))) {
          const isStronger = mode === 'delete' && before.every((erasure) => erasure.mode !== 'delete');
          // Unchanged, but published again: the process that accepted it may have ended before it published it.
          if (!isStronger) return (await store.update(workspaceId, latest.id, (record) => record)) ?? latest;
          // Checked under the lock of the record: the mode of a batch that has begun must not change.
          const changed = await update(workspaceId, latest.id, ({ status }) => (status === 'accepted' ? { mode } : {}));
          if (changed.mode === mode) return changed;
        }
        const all = union(customerIds, latest?.customerIds ?? []);
        const clickIds = await clicksOf(workspaceId, all);
        return await withinBounds(workspaceId, () =>
          create(workspaceId, { mode, subjectHash, customerIds: all, clickIds }),
        );
      });
    },

    /**
     * Adds customers and clicks of the person that were found later. If the erasure has ended, it waits for a new batch again; if its batch is
     * running, it waits again when that ends.
     */
    async addFound(
      { workspaceId, id }: Pick<ErasureRecord, 'workspaceId' | 'id'>,
      found: { readonly customerIds?: readonly string[]; readonly clickIds?: readonly string[] },
    ): Promise<ErasureRecord> {
      const changeOf = (current: ErasureRecord): Partial<ErasureRecord> | undefined => {
        const customerIds = union(current.customerIds, found.customerIds ?? []);
        // Never fewer than before: what a running batch has counted must stay in it.
        const most = Math.max(CLICKS_MAX, current.clickIds.length);
        const clickIds = union(current.clickIds, found.clickIds ?? []).slice(0, most);
        const isMore = customerIds.length > current.customerIds.length || clickIds.length > current.clickIds.length;
        if (!isMore) return undefined;
        if (current.status === 'accepted') return { customerIds, clickIds };
        if (current.status === 'erased') {
          return { customerIds, clickIds, status: 'accepted', batch: null, continuedAt: new Date(now()).toISOString() };
        }
        return { customerIds, clickIds, inBatch: countInBatch(current) };
      };
      const stored = await require(workspaceId, id);
      // Without something to add there is no change: a change delays the batch, because all writers must read it first.
      if (changeOf(stored) === undefined) return stored;
      return update(workspaceId, id, (current) => changeOf(current) ?? {});
    },

    /** Whether a customer was created before the erasure was accepted. A later one is a new person. */
    isBefore: (customerId: string, { createdAt }: Pick<ErasureRecord, 'createdAt'>): boolean =>
      (resourceIdTime('customer', customerId) ?? 0) <= Date.parse(createdAt),

    /** The erasures of all workspaces whose batch has begun, oldest first. */
    begun: (): Promise<ErasureRecord[]> => store.table.selectEverywhere(`status = 'processing'`, {}),

    /**
     * Since when the oldest erasure of any workspace is open, epoch milliseconds; undefined if none is. An erasure that had ended is open since it
     * was continued.
     */
    async openSince(): Promise<number | undefined> {
      const keys = await store.table.keysEverywhere(`status != 'erased'`, OLDEST_READ);
      let oldest: number | undefined;
      for await (const found of readErasures(selectByNumbers, keys)) {
        for (const { record } of found) {
          if (record.status === 'erased') continue;
          const { createdAt, erasedAt, continuedAt, updatedAt } = record;
          const since = Date.parse(erasedAt === null ? createdAt : (continuedAt ?? updatedAt));
          oldest = Math.min(oldest ?? since, since);
        }
      }
      return oldest;
    },

    /**
     * The erasures of all workspaces that have waited for a batch for longest, since they were accepted or changed.
     *
     * @param most how many; fewer are returned if they have more than this many ids together
     */
    async waiting(most: { readonly erasures: number; readonly ids: number }): Promise<ErasureRecord[]> {
      const keys = await store.table.keysEverywhere(`status = 'accepted'`, most.erasures);
      const waiting: ErasureRecord[] = [];
      let ids = 0;
      for (let start = 0; start < keys.length && ids <= most.ids; start += WAITING_PER_STEP) {
        const some: ErasureRecord[] = [];
        for await (const found of readErasures(selectByNumbers, keys.slice(start, start + WAITING_PER_STEP))) {
          some.push(...found.map(({ record }) => record));
        }
        const accepted = some.filter(({ status }) => status === 'accepted');
        for (const { customerIds, clickIds } of accepted) ids += customerIds.length + clickIds.length;
        waiting.push(...accepted.sort((one, other) => (waitsSince(one) < waitsSince(other) ? -1 : 1)));
      }
      return waiting;
    },

    /**
     * Changes erasures of a workspace in one insert: all or none.
     *
     * @param change returns the fields to change; undefined = the erasure stays as it is
     * @returns the erasures as they are stored now
     */
    updateMany(
      workspaceId: string,
      ids: readonly string[],
      change: (record: ErasureRecord) => Partial<Fields<ErasureRecord>> | undefined,
    ): Promise<ErasureRecord[]> {
      return store.updateMany(workspaceId, ids, (record) => {
        const changed = change(record);
        return changed === undefined ? record : { ...record, ...changed, updatedAt: new Date(now()).toISOString() };
      });
    },

    /**
     * The erasure with those ids that its running batch has. They stay the same until the batch ends, because its steps are repeated after a
     * kill: the events that were taken out of the counters must be those that are deleted.
     */
    inBatch(record: ErasureRecord): ErasureRecord {
      const { customers, clicks } = countInBatch(record);
      const customerIds = record.customerIds.slice(0, customers);
      return { ...record, customerIds, clickIds: record.clickIds.slice(0, clicks) };
    },

    /**
     * The fields of an erasure whose batch has ended. It waits for another batch if events of its people are left, or more ids were found.
     *
     * @param isComplete whether no events are left
     */
    ended({ inBatch }: ErasureRecord, isComplete: boolean): Partial<ErasureRecord> {
      if (!isComplete || inBatch !== undefined) return { status: 'accepted', batch: null, inBatch: undefined };
      return { status: 'erased', erasedAt: new Date(now()).toISOString(), continuedAt: undefined };
    },

    /** The erasure object of every response. */
    toErasure(record: ErasureRecord): Erasure {
      const { id, mode, status, customerIds, events, clicks, createdAt, startedAt, erasedAt } = record;
      const kept = mode === 'delete' ? [...ERASURE_KEPT] : [];
      return { id, mode, status, customerIds, events, clicks, kept, createdAt, startedAt, erasedAt };
    },
  };
}
