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

/** A name that a create or an update asked for belongs to another record. */
export class NameTakenError extends ApiError {
  readonly taken: Name;

  constructor(taken: Name) {
    super('conflict', `${taken.name} is already in use.`);
    this.taken = taken;
  }
}

/** Somebody holds one of the names that are to be created together. */
export class NamesBusyError extends Error {}

/** What became of one of several creations: nothing when it was made. */
export type CreationFault = ApiError | undefined;

/** One that is created together with others wants a name that one before it wants. */
export class DuplicateNameError extends NameTakenError {}

/** A record to be created. */
export interface NewRecord<R extends CatalogRecord> {
  readonly record: R;
  /** Its names are random, so collisions are practically impossible. */
  readonly hasRandomNames: boolean;
}

/** What writing needs whatever the kind. */
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

/** What writing needs of one kind. */
export interface RecordDeps<R extends CatalogRecord> {
  readonly kind: EntityType<R>;
  readonly table: RecordTable<R>;
  readonly reader: RecordReader<R>;
  readonly commit: GroupCommit;
  readonly localRecords: LocalRecords<R>;
  /** Whether a record is left over from a creation of several that was killed half-way: its names may be taken over. */
  readonly isOrphan?: (record: R) => Promise<boolean>;
}

export const recordLock = <R extends CatalogRecord>(kind: EntityType<R>, id: string) => `record/${kind.table}/${id}`;
export const nameLock = (name: Name) => `name/${nameKey(name)}`;

/** Members of requests that names are made of, by the kind of name; `name` for all others. */
const MEMBERS: Readonly<Record<string, string>> = {
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

/** @throws ApiError unprocessable_entity for a name that no row can have */
export function checkPossible(name: Name): void {
  if (isPossibleName(name)) return;
  const member = MEMBERS[name.kind] ?? 'name';
  if (hasNul(name)) throw fieldError('invalid_format', member, 'must not contain a NUL character');
  throw fieldError('too_big', member, 'is too long');
}

/** Whose name it is, as the rows of `names` say it. */
export function rowOwner<R extends CatalogRecord>(kind: EntityType<R>, record: R) {
  return { id: numberOf(kind.resource, record.id), workspaceId: numberOf('workspace', record.workspaceId) };
}

/**
 * Runs `work` and frees the lock, except after an insert with an unknown outcome: it may still land, so the lock is left to
 * expire, which is after the insert's last moment.
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
