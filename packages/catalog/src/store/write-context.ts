import { isInfrastructureError, UnknownOutcomeError } from '@waymark/clickhouse';
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
import { type CatalogLogger, unavailable } from '../model/errors.js';
import type { CatalogChange } from '../redis/catalog-changes.js';
import type { Lock, Locks } from '../redis/locks.js';
import type { RedisCache } from '../redis/record-cache.js';
import type { LocalRecords } from './local-cache.js';
import type { RecordReader } from './record-reader.js';
import type { RecordTable } from './record-table.js';
import type { NamesTable } from './unique-names.js';

/** A name that a creation or change requests belongs to another record. */
export class NameTakenError extends ApiError {
  readonly taken: Name;

  constructor(taken: Name) {
    super('conflict', `${taken.name} is already in use.`);
    this.taken = taken;
  }
}

/** Another request holds the lock of a name that a batch is to create. */
export class NamesBusyError extends Error {}

/** The error that has refused one creation in a batch; undefined when the record was created. */
export type CreationFault = ApiError | undefined;

/** A record to be created. */
export interface NewRecord<R extends CatalogRecord> {
  readonly record: R;
  /** Whether all its names are random, so that they are certainly free. */
  readonly hasRandomNames: boolean;
}

/** Dependencies of writes to records of all types. */
export interface WriteDeps {
  readonly locks: Locks;
  readonly namesTable: NamesTable;
  readonly commitNames: GroupCommit;
  readonly cache: RedisCache;
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
  /** Names that must be free, too, for a record to get this name: the record that has one of them is about to get this one. */
  readonly reservedFor?: (name: Name) => Promise<readonly Name[]>;
}

/**
 * The version of a changed record. It is at least the time: an insert with an unknown outcome that ClickHouse carries out after its lock has
 * expired is then older than every change since, and does not undo it.
 */
export const nextVersion = ({ now }: Pick<WriteDeps, 'now'>, version: number): number => Math.max(version + 1, now());

/** The name of the lock on a record. */
export const recordLock = <R extends CatalogRecord>(kind: EntityType<R>, id: string) => `record/${kind.table}/${id}`;
/** The name of the lock on a name. */
export const nameLock = (name: Name) => `name/${nameKey(name)}`;

/** The request field from which the names of each kind come, for error messages; `name` for other kinds. */
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
 * Runs `work` and then releases the lock. After an UnknownOutcomeError the lock is not released but expires later, because the insert may
 * still run.
 *
 * @throws the error of `work`; errors of ClickHouse that do not concern the rows as ApiError 500 with `Retry-After`
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
