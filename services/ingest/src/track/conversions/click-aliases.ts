import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { orUnavailable } from '../unavailable.js';
import { readRows } from './read-rows.js';

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

const QUERY = `SELECT alias, click_id FROM click_aliases
WHERE workspace_id = {workspace:UInt64} AND alias IN {aliases:Array(String)}`;

/** Reads aliases from ClickHouse; concurrent look-ups share one read. */
export function createClickAliases({ clickhouse, workspaces }: ClickAliasesOptions): ClickAliases {
  const load = createDataLoader<AliasKey, string>({
    identify: ({ workspace, alias }) => `${workspace}/${alias}`,
    group: ({ workspace }) => workspace,
    batchSizeMax: ALIASES_PER_READ,
    concurrentReadsMax: READS_MAX,
    async load(keys) {
      const workspace = keys[0]?.workspace ?? '0';
      const rows = await readRows(clickhouse, QUERY, { workspace, aliases: keys.map(({ alias }) => alias) });
      return new Map(rows.map(([alias, clickId = '']) => [`${workspace}/${alias}`, clickId]));
    },
  });

  return {
    async find(workspaceId, alias) {
      const workspace = parseResourceId('workspace', workspaceId);
      if (workspace === undefined || alias.length > ALIAS_CHARS_MAX) return undefined;
      const record = await orUnavailable('workspace look-up', workspaces.get(workspaceId));
      if (record?.hasClickAliases !== true) return undefined;
      return orUnavailable('look-up of a click of another system', load({ workspace, alias }));
    },
  };
}
