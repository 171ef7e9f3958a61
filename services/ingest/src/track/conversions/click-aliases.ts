import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { orNotRecorded } from '../not-recorded.js';
import { readReplicas, readRows } from './read-rows.js';

/** The ids that another system gave to clicks which were imported. */
export interface ClickAliases {
  /**
   * The id of the click here; undefined when no click has the alias. Does not read ClickHouse for workspaces that never imported clicks.
   *
   * @throws ApiError 500 when a store does not answer
   */
  find(workspaceId: string, alias: string): Promise<string | undefined>;
}

export interface ClickAliasesOptions {
  readonly clickhouse: ClickHouseClient;
  /** Name of the ClickHouse cluster; undefined for a single node. */
  readonly cluster?: string | undefined;
  readonly workspaces: { get(id: string): Promise<{ readonly hasClickAliases?: true | undefined } | undefined> };
}

interface AliasKey {
  readonly workspace: string;
  readonly alias: string;
}

const ALIASES_PER_READ = 100;
const READS_MAX = 2;
/** No other system has longer click ids. */
const ALIAS_CHARS_MAX = 64;

const WHERE = 'workspace_id = {workspace:UInt64} AND alias IN {aliases:Array(String)}';
const COLUMNS = ['alias', 'click_id'];
const QUERY = `SELECT ${COLUMNS.join(', ')} FROM click_aliases WHERE ${WHERE}`;

/** Reads aliases from ClickHouse; concurrent look-ups share one read. On a cluster, those that one replica lacks are read once from all that answer. */
export function createClickAliases({ clickhouse, cluster, workspaces }: ClickAliasesOptions): ClickAliases {
  const load = createDataLoader<AliasKey, string>({
    identify: ({ workspace, alias }) => `${workspace}/${alias}`,
    group: ({ workspace }) => workspace,
    batchSizeMax: ALIASES_PER_READ,
    concurrentReadsMax: READS_MAX,
    async load(keys) {
      const workspace = keys[0]?.workspace ?? '0';
      const aliases = keys.map(({ alias }) => alias);
      const rows = await readRows(clickhouse, QUERY, { workspace, aliases });
      const found = new Map(rows.map(([alias = '', clickId = '']) => [alias, clickId]));
      const missing = aliases.filter((alias) => !found.has(alias));
      if (cluster !== undefined && missing.length > 0) {
        const parameters = { workspace, aliases: missing };
        const read = { cluster, table: 'click_aliases', columns: COLUMNS, key: 'alias', where: WHERE, parameters };
        const others = await readReplicas(clickhouse, read);
        for (const [alias, [, clickId = '']] of others.rows) found.set(alias, clickId);
      }
      return new Map([...found].map(([alias, clickId]) => [`${workspace}/${alias}`, clickId]));
    },
  });

  return {
    async find(workspaceId, alias) {
      const workspace = parseResourceId('workspace', workspaceId);
      if (workspace === undefined || alias.length > ALIAS_CHARS_MAX) return undefined;
      const record = await orNotRecorded('workspace look-up', workspaces.get(workspaceId));
      if (record?.hasClickAliases !== true) return undefined;
      return orNotRecorded('look-up of a click of another system', load({ workspace, alias }));
    },
  };
}
