import { createDataLoader } from '@waymark/cache';
import { type ClickHouseClient, readKeyDigests } from '@waymark/clickhouse';
import { groupBy } from '@waymark/contract';
import { type QueryParameters, queryRows } from '../clickhouse/query-rows.js';
import { isPossibleName, type Name, nameKey } from '../model/entity-type.js';
import { storableText } from '../model/storable-text.js';

/** A row of `names`: a record that has, or once had, the name. Both ids are UInt64 as decimal text. */
export interface NameRow {
  readonly workspaceNumber: string;
  readonly number: string;
}

/**
 * Maximum number of look-ups in one statement, because their values are sent in its URL. Creating a hundred records takes two hundred
 * look-ups.
 */
const LOOKUPS_PER_READ = 250;
/** Limit on the values of a statement, percent-encoded in its URL, of which ClickHouse accepts 1 MB. */
const VALUES_BYTES_MAX = 450_000;
/** Maximum bytes of a UTF-16 code unit there: three of UTF-8, each as `%E2`. */
const BYTES_PER_CHAR = 9;
/** Bytes of a look-up besides its texts: names of parameters, and numbers. */
const LOOKUP_BYTES = 225;

/** A record by its table and the UInt64 of its ids as decimal text. */
interface RecordNumber {
  readonly table: string;
  readonly workspaceNumber: string;
  readonly number: string;
}

type Lookup =
  | { readonly type: 'name'; readonly name: Name }
  | { readonly type: 'record'; readonly record: RecordNumber };

function lookupKey(lookup: Lookup): string {
  if (lookup.type === 'name') return `name/${nameKey(lookup.name)}`;
  const { table, workspaceNumber, number } = lookup.record;
  return `record/${table}/${workspaceNumber}/${number}`;
}

/** The most bytes that the values of a look-up can take. */
function valueBytes(lookup: Lookup): number {
  if (lookup.type === 'record') return LOOKUP_BYTES;
  const { scope, name } = lookup.name;
  return LOOKUP_BYTES + BYTES_PER_CHAR * (scope.length + name.length);
}

/** Bits of an id after its time, see `createResourceId`. */
const ID_RANDOM_BITS = 22n;

/**
 * When the record got the name, epoch milliseconds. The row of a changed record has the time as its version. A new record gets its names when
 * it gets its id.
 */
function acquiredMs(version: string, number: string): number {
  return Math.max(Number(version), Number(BigInt(number) >> ID_RANDOM_BITS));
}

interface AcquiredName extends NameRow {
  readonly acquiredMs: number;
}

/** Within a millisecond the higher id is the newer one. So it is after a clock was set back, because the ids of a process increase. */
function newestFirst(one: AcquiredName, other: AcquiredName): number {
  return other.acquiredMs - one.acquiredMs || (BigInt(one.number) > BigInt(other.number) ? -1 : 1);
}

/**
 * A SELECT of `table, kind, scope, name, id, workspace_id, version`, for a UNION. `table` is empty in rows of names; in rows of records,
 * `kind`, `scope` and `name` are, and `version` is 0.
 */
interface Part {
  readonly sql: string;
  readonly parameters: QueryParameters;
}

function nameParts(names: readonly Name[]): Part[] {
  const groups = [...groupBy(names, ({ kind, scope }) => `${kind}/${scope}`).values()];
  if (groups.length === 0) return [];
  const conditions = groups.map(
    (_group, index) => `kind = {k${index}:String} AND scope = {s${index}:String} AND name IN {n${index}:Array(String)}`,
  );
  return [
    {
      sql: `SELECT '' AS table, kind, scope, name, id, workspace_id, version FROM names FINAL WHERE (${conditions.join(') OR (')})`,
      parameters: Object.fromEntries(
        groups.flatMap((group, index) => [
          [`k${index}`, group[0].kind],
          [`s${index}`, group[0].scope],
          [`n${index}`, group.map(({ name }) => name)],
        ]),
      ),
    },
  ];
}

function recordParts(records: readonly RecordNumber[]): Part[] {
  const groups = groupBy(records, ({ table, workspaceNumber }) => `${table}/${workspaceNumber}`);
  return Array.from(groups.values(), (group, index) => ({
    sql: `SELECT '${group[0].table}' AS table, '' AS kind, '' AS scope, '' AS name, id, workspace_id, 0 AS version
FROM ${group[0].table} WHERE workspace_id = {w${index}:UInt64} AND id IN ({i${index}:Array(UInt64)})`,
    parameters: {
      [`w${index}`]: BigInt(group[0].workspaceNumber),
      [`i${index}`]: group.map(({ number }) => BigInt(number)),
    },
  }));
}

/**
 * Reads the table `names`, which is read without a workspace, because workspaces are found through it. Concurrent look-ups share one
 * statement, because each statement costs ClickHouse milliseconds, however small.
 */
export function createNamesTable(clickhouse: ClickHouseClient, settings: Readonly<Record<string, number>>) {
  async function load(lookups: readonly Lookup[]): Promise<ReadonlyMap<string, readonly NameRow[]>> {
    const selects = [
      ...nameParts(lookups.flatMap((lookup) => (lookup.type === 'name' ? lookup.name : []))),
      ...recordParts(lookups.flatMap((lookup) => (lookup.type === 'record' ? lookup.record : []))),
    ];
    const rows = await queryRows<[string, string, string, string, string, string, string]>(clickhouse, {
      query: selects.map(({ sql }) => sql).join('\nUNION ALL '),
      parameters: Object.assign({}, ...selects.map(({ parameters }) => parameters)),
      settings: { ...settings, max_threads: 1 },
    });
    const rowsByKey = new Map<string, AcquiredName[]>();
    for (const [table, kind, scope, name, number, workspaceNumber, version] of rows) {
      const key = lookupKey(
        table === ''
          ? { type: 'name', name: { kind, scope, name } }
          : { type: 'record', record: { table, workspaceNumber, number } },
      );
      const rowsOfKey = rowsByKey.get(key) ?? [];
      rowsByKey.set(key, rowsOfKey);
      // A record has a row for each of its versions.
      if (rowsOfKey.some((row) => row.number === number && row.workspaceNumber === workspaceNumber)) continue;
      rowsOfKey.push({ workspaceNumber, number, acquiredMs: acquiredMs(version, number) });
    }
    // Sorted here, because with an ORDER BY around the UNION the statement takes a quarter longer.
    for (const rowsOfKey of rowsByKey.values()) rowsOfKey.sort(newestFirst);
    return rowsByKey;
  }

  const lookUp = createDataLoader<Lookup, readonly NameRow[]>({
    identify: lookupKey,
    group: () => '',
    load,
    batchSizeMax: LOOKUPS_PER_READ,
    weight: { of: valueBytes, max: VALUES_BYTES_MAX },
    concurrentReadsMax: 4,
  });

  return {
    /**
     * The rows of a name; that of the record that got it last comes first. A row does not prove that its record exists and still has the name.
     * Two records have one name if ClickHouse carries out an insert with a lost answer after its locks have expired. The record that got the
     * name since was checked and answered, so it is the owner.
     */
    async rowsOf(name: Name): Promise<readonly NameRow[]> {
      if (!isPossibleName(name)) return [];
      const stored = { ...name, name: storableText(name.name), scope: storableText(name.scope) };
      return (await lookUp({ type: 'name', name: stored })) ?? [];
    },

    /**
     * Whether a table has, or ever had, a record with that id. It is read here to share a statement with the names of the same creation.
     */
    async isUsed(record: RecordNumber): Promise<boolean> {
      return (await lookUp({ type: 'record', record })) !== undefined;
    },

    /**
     * Digests of all names of a kind in a scope, including names that no record has any more; undefined when there are more than `keysMax`.
     * See `readKeyDigests`.
     */
    digests: (kind: string, scope: string, keysMax: number): Promise<Buffer[] | undefined> =>
      readKeyDigests(clickhouse, {
        query: 'SELECT name AS key FROM names WHERE kind = {kind:String} AND scope = {scope:String}',
        parameters: { kind, scope },
        settings: { ...settings, log_comment: 'catalog' },
        keysMax,
      }),

    /** The UInt64 ids of records with a name of that kind that is unique in the whole installation, lowest first. */
    async ids(kind: string): Promise<string[]> {
      const query = `SELECT DISTINCT id FROM names FINAL WHERE kind = {kind:String} AND scope = '' ORDER BY id`;
      const rows = await queryRows<[string]>(clickhouse, { query, parameters: { kind }, settings });
      return rows.map(([id]) => id);
    },
  };
}
export type NamesTable = ReturnType<typeof createNamesTable>;
