import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { type QueryParameters, queryRows } from '../clickhouse/query-rows.js';
import { isPossibleName, type Name, nameKey } from '../model/entity-type.js';
import { storableText } from '../model/storable-text.js';

/** An owner as the table has it, 64-bit ids as decimal text. */
export interface NameClaim {
  readonly workspaceNumber: string;
  readonly number: string;
}

/** A bulk of a hundred creations asks for twice as many. They travel in the URL of the query. */
const QUESTIONS_PER_READ = 250;

/** The id of a record, as its table has it. */
interface RecordNumber {
  readonly table: string;
  readonly workspaceNumber: string;
  readonly number: string;
}

type Question =
  | { readonly about: 'name'; readonly name: Name }
  | { readonly about: 'record'; readonly record: RecordNumber };

function questionKey(question: Question): string {
  if (question.about === 'name') return `name/${nameKey(question.name)}`;
  const { table, workspaceNumber, number } = question.record;
  return `record/${table}/${workspaceNumber}/${number}`;
}

/** Things with the same key, in lists of their own. */
function grouped<T>(things: readonly T[], keyOf: (thing: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const thing of things) {
    const key = keyOf(thing);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [thing]);
    else group.push(thing);
  }
  return [...groups.values()];
}

/** Part of a query that is a SELECT of `table, kind, scope, name, id, workspace_id`; the first two identify the look-up that a row answers. */
interface Part {
  readonly sql: string;
  readonly parameters: QueryParameters;
}

function namesPart(names: readonly Name[]): Part[] {
  const groups = grouped(names, ({ kind, scope }) => `${kind}/${scope}`);
  if (groups.length === 0) return [];
  const conditions = groups.map(
    (_group, index) => `kind = {k${index}:String} AND scope = {s${index}:String} AND name IN {n${index}:Array(String)}`,
  );
  return [
    {
      sql: `SELECT '' AS table, kind, scope, name, id, workspace_id FROM names FINAL WHERE (${conditions.join(') OR (')})`,
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

function recordDeps(records: readonly RecordNumber[]): Part[] {
  return grouped(records, ({ table, workspaceNumber }) => `${table}/${workspaceNumber}`).map((group, index) => ({
    sql: `SELECT DISTINCT '${group[0].table}' AS table, '' AS kind, '' AS scope, '' AS name, id, workspace_id
FROM ${group[0].table} WHERE workspace_id = {w${index}:UInt64} AND id IN ({i${index}:Array(UInt64)})`,
    parameters: {
      [`w${index}`]: BigInt(group[0].workspaceNumber),
      [`i${index}`]: group.map(({ number }) => BigInt(number)),
    },
  }));
}

/**
 * Reads of `names`: the one table that is read without a workspace, because it is what leads to one. What is asked at the same
 * moment is one statement, each of which costs milliseconds however little it says.
 */
export function createNamesTable(clickhouse: ClickHouseClient, settings: Readonly<Record<string, number>>) {
  async function load(questions: readonly Question[]): Promise<ReadonlyMap<string, readonly NameClaim[]>> {
    const selects = [
      ...namesPart(questions.flatMap((question) => (question.about === 'name' ? question.name : []))),
      ...recordDeps(questions.flatMap((question) => (question.about === 'record' ? question.record : []))),
    ];
    const rows = await queryRows<[string, string, string, string, string, string]>(clickhouse, {
      query: `SELECT * FROM (${selects.map(({ sql }) => sql).join('\nUNION ALL ')}) ORDER BY table, kind, scope, name, id`,
      parameters: Object.assign({}, ...selects.map(({ parameters }) => parameters)),
      settings: { ...settings, max_threads: 1 },
    });
    const claims = new Map<string, NameClaim[]>();
    for (const [table, kind, scope, name, number, workspaceNumber] of rows) {
      const key = questionKey(
        table === ''
          ? { about: 'name', name: { kind, scope, name } }
          : { about: 'record', record: { table, workspaceNumber, number } },
      );
      const known = claims.get(key) ?? [];
      claims.set(key, known);
      known.push({ workspaceNumber, number });
    }
    return claims;
  }

  const look = createDataLoader<Question, readonly NameClaim[]>({
    identify: questionKey,
    group: () => '',
    load,
    batchSizeMax: QUESTIONS_PER_READ,
    concurrentReadsMax: 4,
  });

  return {
    /** Rows of a name, the oldest id first. A row alone owns nothing: its record must exist and say the same name. */
    async claims(name: Name): Promise<readonly NameClaim[]> {
      if (!isPossibleName(name)) return [];
      const stored = { ...name, name: storableText(name.name), scope: storableText(name.scope) };
      return (await look({ about: 'name', name: stored })) ?? [];
    },

    /** Whether a record of a table has that id, or ever had. Asked together with names: who creates asks for both. */
    async isUsed(record: RecordNumber): Promise<boolean> {
      return (await look({ about: 'record', record })) !== undefined;
    },

    /** Ids with a name of that kind in the scope of the whole installation, the oldest first. */
    async ids(kind: string): Promise<string[]> {
      const query = `SELECT DISTINCT id FROM names FINAL WHERE kind = {kind:String} AND scope = '' ORDER BY id`;
      const rows = await queryRows<[string]>(clickhouse, { query, parameters: { kind }, settings });
      return rows.map(([id]) => id);
    },
  };
}
export type NamesTable = ReturnType<typeof createNamesTable>;
