import { parseResourceId, type ResourceKind } from '@waymark/contract';
import type { EventRow, RowValue } from '@waymark/event-format';
import type { z } from 'zod';
import { storableText } from './storable-text.js';

/** The fields that every record has. The `workspaceId` of a workspace is its own id. */
export interface CatalogRecord {
  readonly id: string;
  readonly workspaceId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A text by which a record is found without its workspace and id. It is unique within its kind and scope, and stored in table `names`. */
export interface Name {
  readonly kind: string;
  /** A domain, the number of a workspace, or `''` for names that are unique in the whole installation. */
  readonly scope: string;
  readonly name: string;
  /** The name as the caller has spelt it, for error messages; set for case-insensitive names. */
  readonly original?: string;
}

/** A type of record: its table, columns, schema and names. */
export interface EntityType<R extends CatalogRecord> {
  /** The kind of its ids, such as `link` for `link_…`. */
  readonly resource: ResourceKind;
  readonly table: string;
  readonly schema: z.ZodType<R>;
  /** The columns by which lists filter, and their values. {@link recordRow} adds the columns that every table has. */
  readonly columns: Readonly<Record<string, (record: R) => RowValue>>;
  /** All names of a record. */
  readonly names: (record: R) => readonly Name[];
  /** Removes the data that must not stay in the columns of a removed record, such as personal data; by default all stays. */
  readonly remains?: (record: R) => R;
  /** For how long an expired copy in this process may be served while neither Redis nor ClickHouse answers. */
  readonly staleMsMax: number;
  /** A workspace can have so many records of this type that a list must not read them all. */
  readonly isNumerous?: true;
  /** Set for types whose records `/track` also creates through the queue. */
  readonly queued?: QueuedEntityType<R>;
}

/** What lists need to filter pending records of a type, which have no rows yet. */
export interface QueuedEntityType<R extends CatalogRecord> {
  /** The ClickHouse types of `columns`. */
  readonly columnTypes: Readonly<Record<string, 'String' | 'UInt64'>>;
  /** Removes long fields that no filter reads, because the record is sent in the URL of a query. */
  readonly listed: (record: R) => R;
}

/** A record and the version of its row. */
export interface Stored<R> {
  readonly version: number;
  readonly record: R;
  /** The row is still in the queue: neither it nor the rows of its names are in ClickHouse. */
  readonly isPending?: true;
}

/** The UInt64 of a public id as decimal text. @throws TypeError for a text that is no id of that kind */
export function numberOf(resource: ResourceKind, id: string): string {
  const number = parseResourceId(resource, id);
  if (number === undefined) throw new TypeError(`not a ${resource} id: ${id}`);
  return number;
}

/** The UInt64 of an optional id; `'0'` for null, and for a text that is no id of that kind. */
export function numberOrZero(resource: ResourceKind, id: string | null): string {
  return (id === null ? undefined : parseResourceId(resource, id)) ?? '0';
}

const LEADING_COLUMNS = ['workspace_id', 'id', 'version', 'deleted'] as const;

/** The columns of a type's table, in the order of {@link recordRow}. */
export function recordColumns<R extends CatalogRecord>(kind: EntityType<R>): string[] {
  return [...LEADING_COLUMNS, ...Object.keys(kind.columns), 'created_at', 'data'];
}

/** The value as ClickHouse stores it; see {@link storableText}. */
export function columnValue(value: RowValue): RowValue {
  return typeof value === 'string' ? storableText(value) : value;
}

/** The row of a record. The row of a removed one has the columns of `remains`, and no data. */
export function recordRow<R extends CatalogRecord>(
  kind: EntityType<R>,
  { record, version }: Stored<R>,
  removed = false,
): EventRow {
  const kept = removed && kind.remains !== undefined ? kind.remains(record) : record;
  return [
    numberOf('workspace', record.workspaceId),
    numberOf(kind.resource, record.id),
    version,
    removed ? 1 : 0,
    ...Object.values(kind.columns).map((column) => columnValue(column(kept))),
    Date.parse(record.createdAt),
    removed ? '' : JSON.stringify(record),
  ];
}

/**
 * The row of `names` that gives a name to a record, or takes it away.
 *
 * @param owner the UInt64 of the ids as decimal text
 * @param removed whether the record loses the name
 */
export function nameRow(
  name: Name,
  owner: { readonly id: string; readonly workspaceId: string },
  version: number,
  removed = false,
): EventRow {
  return [name.kind, name.scope, storableText(name.name), owner.id, owner.workspaceId, version, removed ? 1 : 0];
}

/** More characters than any accepted name and its scope have together, also in punycode. */
const NAME_CHARS_MAX = 2_048;

/** Whether the name contains NUL, which cannot be sent in a query parameter. */
export function hasNul({ scope, name }: Name): boolean {
  return name.includes('\0') || scope.includes('\0');
}

/**
 * Whether a record could have the name. Impossible names are not looked up: NUL cannot be sent in a query parameter, anonymous requests
 * must not fill the caches with long texts, and with a slash in its scope a name would have the {@link nameKey} of another one.
 */
export function isPossibleName(name: Name): boolean {
  return name.scope.length + name.name.length <= NAME_CHARS_MAX && !hasNul(name) && !name.scope.includes('/');
}

/** The name as one text, for maps, cache keys and locks. Unambiguous for {@link isPossibleName possible} names: no kind contains a slash. */
export function nameKey({ kind, scope, name }: Name): string {
  return `${kind}/${scope}/${name}`;
}

/** The names of each record object. They are cached because every redirect checks them, and a record object never changes. */
const namesOfRecords = new WeakMap<object, readonly Name[]>();

/** Whether the record has the name. */
export function hasName<R extends CatalogRecord>(kind: EntityType<R>, record: R, name: Name): boolean {
  let names = namesOfRecords.get(record);
  if (names === undefined) {
    names = kind.names(record);
    namesOfRecords.set(record, names);
  }
  return names.some((own) => own.name === name.name && own.kind === name.kind && own.scope === name.scope);
}
