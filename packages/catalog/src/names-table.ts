import type { ClickHouseClient } from '@waymark/clickhouse';
import { createBatchLoader } from './batch-loader.js';
import { isPossibleName, type Name, nameKey } from './kind.js';
import { queryRows } from './query-rows.js';
import { storableText } from './storable-text.js';

/** An owner as the table has it, 64-bit ids as decimal text. */
export interface NameClaim {
  readonly workspaceNumber: string;
  readonly number: string;
}

const NAMES_PER_READ = 50;

interface NameGroup {
  readonly kind: string;
  readonly scope: string;
  readonly names: string[];
}

function groupByScope(names: readonly Name[]): NameGroup[] {
  const groups = new Map<string, NameGroup>();
  for (const { kind, scope, name } of names) {
    const key = `${kind}/${scope}`;
    const group = groups.get(key) ?? { kind, scope, names: [] };
    groups.set(key, group);
    group.names.push(storableText(name));
  }
  return [...groups.values()];
}

/** Reads of `names`: the one table that is read without a workspace, because it is what leads to one. */
export function createNamesTable(clickhouse: ClickHouseClient, settings: Readonly<Record<string, number>>) {
  async function load(names: readonly Name[]): Promise<ReadonlyMap<string, readonly NameClaim[]>> {
    const groups = groupByScope(names);
    const conditions = groups.map(
      (_group, index) =>
        `kind = {k${index}:String} AND scope = {s${index}:String} AND name IN {n${index}:Array(String)}`,
    );
    const rows = await queryRows<[string, string, string, string, string]>(clickhouse, {
      query: `SELECT kind, scope, name, id, workspace_id FROM names FINAL WHERE (${conditions.join(') OR (')})
ORDER BY kind, scope, name, id`,
      parameters: Object.fromEntries(
        groups.flatMap((group, index) => [
          [`k${index}`, group.kind],
          [`s${index}`, group.scope],
          [`n${index}`, group.names],
        ]),
      ),
      settings: { ...settings, max_threads: 1 },
    });
    const claims = new Map<string, NameClaim[]>();
    for (const [kind, scope, name, number, workspaceNumber] of rows) {
      const key = nameKey({ kind, scope, name });
      const known = claims.get(key) ?? [];
      claims.set(key, known);
      known.push({ workspaceNumber, number });
    }
    return claims;
  }

  const look = createBatchLoader<Name, readonly NameClaim[]>({
    identify: nameKey,
    group: () => '',
    load,
    batchSizeMax: NAMES_PER_READ,
    concurrentReadsMax: 4,
  });

  return {
    /** Rows of a name, the oldest id first. A row alone owns nothing: its record must exist and say the same name. */
    async claims(name: Name): Promise<readonly NameClaim[]> {
      if (!isPossibleName(name)) return [];
      return (await look({ ...name, name: storableText(name.name), scope: storableText(name.scope) })) ?? [];
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
