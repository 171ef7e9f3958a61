import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError, chunksOf } from '@waymark/contract';
import { queryRows } from '../clickhouse/query-rows.js';
import { type CatalogRecord, numberOf } from '../model/entity-type.js';
import type { ExportScheduleRecord } from '../model/job-record-schemas.js';
import type { LinkRecord, WebhookRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';
import type { SecretBox } from './secret-box.js';

/** The kinds of values in records that the instance key encrypts. */
export type SealedKind = 'link password' | 'webhook secret' | 'export credential';

/** The number of values by the key that has encrypted them. */
export interface SealedCounts {
  /** By the current key, including those that were re-sealed. */
  readonly current: number;
  /** Number of values that were re-sealed. */
  readonly resealed: number;
  /** By another accepted key. */
  readonly other: number;
  /** By a key that is not accepted: these values are unreadable. */
  readonly unknown: number;
}

/** The result of a walk over all encrypted values. */
export interface SealedReport {
  readonly counts: Readonly<Record<SealedKind, SealedCounts>>;
  /** Ids of the first links, webhooks and export schedules with an unreadable value. */
  readonly unreadable: readonly string[];
}

/** Options of `walk`. */
export interface WalkOptions {
  /** Whether to re-seal what another accepted key has encrypted; if not, values are only counted. */
  readonly isResealing: boolean;
  /** Called with the counts so far, after every page. */
  readonly onProgress?: (counts: SealedReport['counts']) => void;
}

/** Dependencies of {@link createSealedValues}. */
export interface SealedValuesDeps {
  readonly clickhouse: ClickHouseClient;
  /** Settings of every read. */
  readonly settings: Readonly<Record<string, number>>;
  readonly secrets: SecretBox;
  readonly links: RecordStore<LinkRecord>;
  readonly webhooks: RecordStore<WebhookRecord>;
  readonly exportSchedules: RecordStore<ExportScheduleRecord>;
  readonly workspaceIds: () => Promise<readonly string[]>;
}

/** Rows that one query searches for values, so few that it stays far below the time limit of reads. */
const ROWS_PER_SEARCH = 20_000;
/** Records that are changed in one insert; requests that change one of them wait until it has ended. */
const RECORDS_AT_ONCE = 500;
/** Each attempt waits ten seconds for a lock, and the locks of a killed run expire after thirty. */
const ATTEMPTS_MAX = 5;
const UNREADABLE_LISTED_MAX = 20;

const NOTHING: SealedCounts = { current: 0, resealed: 0, other: 0, unknown: 0 };

/** Repeats work that failed because a store or a lock was busy. */
async function repeatWhileBusy<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (err) {
      const isBusy = err instanceof ApiError && err.retryAfterSeconds !== undefined;
      if (!isBusy || attempt === ATTEMPTS_MAX) throw err;
    }
  }
}

/** A field of a type of record that contains encrypted values. */
interface SealedField<R extends CatalogRecord> {
  readonly store: RecordStore<R>;
  /** Name of the field in the record's JSON. */
  readonly name: string;
  readonly valueOf: (record: R) => string | null;
  /** See `SecretBox`. */
  readonly contextOf: (record: R) => string;
  readonly withValue: (record: R, sealed: string) => R;
}

/** Finds and re-seals all values that are encrypted with an instance key, for its rotation (docs/runbooks/rotating-keys.md). */
export function createSealedValues(deps: SealedValuesDeps) {
  const { clickhouse, settings, secrets, links, webhooks, exportSchedules, workspaceIds } = deps;
  const fields = {
    'link password': {
      store: links,
      name: 'encryptedPassword',
      valueOf: ({ encryptedPassword }) => encryptedPassword,
      contextOf: ({ id }) => id,
      withValue: (record, encryptedPassword) => ({ ...record, encryptedPassword }),
    } satisfies SealedField<LinkRecord>,
    'webhook secret': {
      store: webhooks,
      name: 'encryptedSecret',
      valueOf: ({ encryptedSecret }) => encryptedSecret,
      contextOf: ({ workspaceId }) => workspaceId,
      withValue: (record, encryptedSecret) => ({ ...record, encryptedSecret }),
    } satisfies SealedField<WebhookRecord>,
    'export credential': {
      store: exportSchedules,
      name: 'encryptedCredentials',
      valueOf: ({ encryptedCredentials }) => encryptedCredentials,
      contextOf: ({ workspaceId }) => workspaceId,
      withValue: (record, encryptedCredentials) => ({ ...record, encryptedCredentials }),
    } satisfies SealedField<ExportScheduleRecord>,
  };

  /** Pages with the ids of the records that have a value, in ascending order. */
  async function* pagesOf<R extends CatalogRecord>(field: SealedField<R>, workspaceId: string) {
    const { kind, table } = field.store;
    for (let after = 0n, found = ROWS_PER_SEARCH; found === ROWS_PER_SEARCH; ) {
      const [row] = await queryRows<[string, string, string[]]>(clickhouse, {
        query: `SELECT count(), max(id), groupArrayIf(id, has_value) FROM (
SELECT id, JSONExtractString(data, {field:String}) != '' AS has_value FROM ${kind.table} FINAL
WHERE workspace_id = {workspace:UInt64} AND id > {after:UInt64} ORDER BY id LIMIT {limit:UInt32})`,
        parameters: {
          field: field.name,
          workspace: numberOf('workspace', workspaceId),
          after,
          limit: ROWS_PER_SEARCH,
        },
        settings,
      });
      const [count = '0', last = '0', numbers = []] = row ?? [];
      [found, after] = [Number(count), BigInt(last)];
      for (const some of chunksOf(numbers, RECORDS_AT_ONCE)) yield some.map(table.publicId);
    }
  }

  const sealerOf = <R extends CatalogRecord>(field: SealedField<R>, record: R) => {
    const sealed = field.valueOf(record);
    return sealed === null ? undefined : secrets.sealerOf(sealed, field.contextOf(record));
  };

  /** Re-seals the values of records, like any other change of a record. @returns how many values have changed */
  async function reseal<R extends CatalogRecord>(field: SealedField<R>, workspaceId: string, ids: readonly string[]) {
    let changed = 0;
    await repeatWhileBusy(async () => {
      let changedNow = 0;
      await field.store.updateMany(workspaceId, ids, (record) => {
        const sealed = field.valueOf(record);
        if (sealed === null || sealerOf(field, record) !== 'other') return record;
        changedNow++;
        const context = field.contextOf(record);
        return field.withValue(record, secrets.seal(secrets.open(sealed, context), context));
      });
      changed = changedNow;
    });
    return changed;
  }

  /** Counts the values of a page, and re-seals them if requested. @returns the counts, and the ids of records with unreadable values */
  async function inspect<R extends CatalogRecord>(
    field: SealedField<R>,
    workspaceId: string,
    ids: readonly string[],
    isResealing: boolean,
  ) {
    const records = await field.store.lists.read(workspaceId, ids);
    const idsOf = (sealer: string) =>
      records.filter((record) => sealerOf(field, record) === sealer).map(({ id }) => id);
    const [current, other, unknown] = [idsOf('current'), idsOf('other'), idsOf('unknown')];
    const resealed = isResealing && other.length > 0 ? await reseal(field, workspaceId, other) : 0;
    const left = isResealing ? 0 : other.length;
    return {
      counts: { current: current.length + other.length - left, resealed, other: left, unknown: unknown.length },
      unreadable: unknown,
    };
  }

  return {
    /**
     * Visits every encrypted value of all workspaces. It may be interrupted at any time and repeated: values that the current key has
     * encrypted are not written again.
     */
    async walk({ isResealing, onProgress }: WalkOptions): Promise<SealedReport> {
      const counts: Record<SealedKind, SealedCounts> = {
        'link password': NOTHING,
        'webhook secret': NOTHING,
        'export credential': NOTHING,
      };
      const unreadable: string[] = [];
      const visit = async <R extends CatalogRecord>(kind: SealedKind, field: SealedField<R>, workspaceId: string) => {
        for await (const ids of pagesOf(field, workspaceId)) {
          const page = await inspect(field, workspaceId, ids, isResealing);
          const { current, resealed, other, unknown } = counts[kind];
          counts[kind] = {
            current: current + page.counts.current,
            resealed: resealed + page.counts.resealed,
            other: other + page.counts.other,
            unknown: unknown + page.counts.unknown,
          };
          unreadable.push(...page.unreadable.slice(0, UNREADABLE_LISTED_MAX - unreadable.length));
          onProgress?.(counts);
        }
      };
      for (const workspaceId of await workspaceIds()) {
        await visit('link password', fields['link password'], workspaceId);
        await visit('webhook secret', fields['webhook secret'], workspaceId);
        await visit('export credential', fields['export credential'], workspaceId);
      }
      return { counts, unreadable };
    },
  };
}
