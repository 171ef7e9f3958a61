import { isInfrastructureError } from '@waymark/clickhouse';
import { ApiError, fieldError } from '@waymark/contract';
import type { GroupCommit } from '../clickhouse/group-commit.js';
import {
  type CatalogRecord,
  type EntityType,
  hasNul,
  isPossibleName,
  type Name,
  nameKey,
  numberOf,
} from '../model/entity-type.js';
import { type CatalogLogger, UnknownOutcomeError, unavailable } from '../model/errors.js';
import type { CatalogChange } from '../redis/catalog-changes.js';
import type { Lock, Locks } from '../redis/locks.js';
import type { RedisCache } from '../redis/record-cache.js';
import type { LocalNames, LocalRecords } from './local-cache.js';
import type { RecordReader } from './record-reader.js';
import type { RecordTable } from './record-table.js';
import type { NamesTable } from './unique-names.js';

/** The name of a creation or an update belongs to another record. */
export class NameTakenError extends ApiError {
  readonly taken: Name;

  constructor(taken: Name) {
    super('conflict', `${taken.name} is already in use.`);
    this.taken = taken;
  }
}

/** Another request has the lock of a name that is to be created in a batch. */
export class NamesBusyError extends Error {}

/** The error of one creation in a batch; undefined when the record was created. */
export type CreationFault = ApiError | undefined;

/** An earlier creation of the same batch has the same name. */
export class DuplicateNameError extends NameTakenError {}

/** A record to be created. */
export interface NewRecord<R extends CatalogRecord> {
  readonly record: R;
  /** Its names are random, so a collision is practically impossible. */
  readonly hasRandomNames: boolean;
}

/** Dependencies of writes to records of all types. */
export interface WriteDeps {
  readonly locks: Locks;
  readonly namesTable: NamesTable;
  readonly commitNames: GroupCommit;
  readonly cache: RedisCache;
  readonly localNames: LocalNames;
  readonly publish: (change: Partial<CatalogChange>) => Promise<void>;
  readonly logger: CatalogLogger;
  readonly now: () => number;
}

/** Dependencies of writes to records of one type. */
export interface RecordDeps<R extends CatalogRecord> {
  readonly kind: EntityType<R>;
  readonly table: RecordTable<R>;
  readonly reader: RecordReader<R>;
  readonly commit: GroupCommit;
  readonly localRecords: LocalRecords<R>;
  /** Whether a record is left over from a killed creation of several records: its names may be reassigned. */
  readonly isOrphan?: (record: R) => Promise<boolean>;
}

export const recordLock = <R extends CatalogRecord>(kind: EntityType<R>, id: string) => `record/${kind.table}/${id}`;
export const nameLock = (name: Name) => `name/${nameKey(name)}`;

/** Request field that names of each kind come from, for error messages; `name` for kinds not listed. */
const FIELDS: Readonly<Record<string, string>> = {
  'link-external-id': 'externalId',
  'partner-email': 'email',
  'partner-tenant-id': 'tenantId',
  'webhook-url': 'url',
  customer: 'externalId',
  domain: 'slug',
  group: 'slug',
  link: 'key',
  workspace: 'slug',
};

/** @throws ApiError unprocessable_entity for a name that cannot be stored */
export function checkPossible(name: Name): void {
  if (isPossibleName(name)) return;
  const field = FIELDS[name.kind] ?? 'name';
  if (hasNul(name)) throw fieldError('invalid_format', field, 'must not contain a NUL character');
  throw fieldError('too_big', field, 'is too long');
}

/** The owner columns of rows of `names`. */
export function rowOwner<R extends CatalogRecord>(kind: EntityType<R>, record: R) {
  return { id: numberOf(kind.resource, record.id), workspaceId: numberOf('workspace', record.workspaceId) };
}

/**
 * Runs `work` and releases the lock. After an insert with an unknown outcome the lock is not released but expires, because the
 * insert may still run; the lock outlasts it.
 */
export async function underLock<T>(lock: Lock, work: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (err) {
    if (err instanceof UnknownOutcomeError) throw err;
    await lock.release();
    throw !(err instanceof ApiError) && isInfrastructureError(err) ? unavailable('catalog write', err) : err;
  }
  await lock.release();
  return result;
}
