import { createDataLoader, createTrackedCache } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';
import { webhookType } from '../model/entity-types.js';
import { createRecordParser, type ParserDeps } from '../model/parse-record.js';
import type { WebhookRecord } from '../model/record-schemas.js';
import type { CatalogChange } from '../redis/catalog-changes.js';

const WORKSPACES_MAX = 10_000;
/** TTL, in case an eviction is lost. */
const TTL_MS = 30_000;
const WORKSPACES_PER_READ = 1_000;

/** Dependencies of {@link createActiveWebhooks}. */
export interface ActiveWebhooksDeps extends ParserDeps {
  readonly clickhouse: ClickHouseClient;
  /** Settings of every read. */
  readonly read: Readonly<Record<string, number>>;
  /** Whether this process receives the changes of others; while it does not, nothing is cached. */
  readonly isSubscribed: () => boolean;
  readonly now: () => number;
}

/**
 * Reads the enabled webhooks of workspaces. They are cached in this process, because every insert of events reads them. Those that cannot be
 * read are left out, because one must not stop the inserts of all workspaces.
 */
export function createActiveWebhooks({ clickhouse, read, isSubscribed, logger, now }: ActiveWebhooksDeps) {
  const parseRow = createRecordParser(webhookType, { logger });
  const cache = createTrackedCache<readonly WebhookRecord[]>({
    bound: { entriesMax: WORKSPACES_MAX },
    ttlMs: TTL_MS,
    isUsable: isSubscribed,
    now,
  });

  const readWebhooks = createDataLoader<string, WebhookRecord[]>({
    identify: (workspaceId) => workspaceId,
    group: () => '',
    async load(workspaceIds) {
      const rows = await queryRows<[string, string, string]>(clickhouse, {
        query: `SELECT workspace_id, id, data FROM ${webhookType.table} FINAL
WHERE workspace_id IN ({workspaces:Array(UInt64)}) AND disabled = 0 ORDER BY workspace_id, id`,
        parameters: { workspaces: workspaceIds.map((id) => BigInt(numberOf('workspace', id))) },
        settings: read,
      });
      const found = new Map<string, WebhookRecord[]>();
      for (const [workspace, number, data] of rows) {
        const record = parseRow(workspace, number, data);
        if (record === undefined) continue;
        const id = formatResourceId('workspace', workspace);
        const ofWorkspace = found.get(id);
        if (ofWorkspace === undefined) found.set(id, [record]);
        else ofWorkspace.push(record);
      }
      return found;
    },
    batchSizeMax: WORKSPACES_PER_READ,
    concurrentReadsMax: 2,
  });

  return {
    /** The enabled webhooks of a workspace, by id. */
    of: (workspaceId: string): Promise<readonly WebhookRecord[]> =>
      cache.load(workspaceId, async () => (await readWebhooks(workspaceId)) ?? []),

    onChange({ records }: CatalogChange): void {
      for (const { table, workspaceId } of records) if (table === webhookType.table) cache.evict(workspaceId);
    },

    onGap: cache.clear,
  };
}
export type ActiveWebhooks = ReturnType<typeof createActiveWebhooks>;
