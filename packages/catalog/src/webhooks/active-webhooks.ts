import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { LRUCache } from 'lru-cache';
import { queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';
import { webhookKind } from '../model/entity-types.js';
import type { WebhookRecord } from '../model/record-schemas.js';
import type { CatalogChange } from '../redis/change-feed.js';
import { parseData } from '../store/record-table.js';

const WORKSPACES_KEPT = 10_000;
/** Changes invalidate it; if an invalidation is lost, it is no older than that. */
const KEPT_MS = 30_000;
const WORKSPACES_PER_READ = 1_000;

export interface ActiveWebhooksParts {
  readonly clickhouse: ClickHouseClient;
  readonly read: Readonly<Record<string, number>>;
  /** Whether invalidations are received; until then nothing is cached. */
  readonly isHearing: () => boolean;
  readonly now: () => number;
}

/**
 * The webhooks of a workspace that are not disabled, cached in this process: they are read for every insert of events, and
 * almost always the answer is none.
 */
export function createActiveWebhooks({ clickhouse, read, isHearing, now }: ActiveWebhooksParts) {
  const kept = new LRUCache<string, { readonly webhooks: readonly WebhookRecord[]; readonly untilMs: number }>({
    max: WORKSPACES_KEPT,
  });
  /** What was read before a change is not kept after it. */
  let changes = 0;

  const look = createDataLoader<string, WebhookRecord[]>({
    identify: (workspaceId) => workspaceId,
    group: () => '',
    async load(workspaceIds) {
      const rows = await queryRows<[string, string]>(clickhouse, {
        query: `SELECT workspace_id, data FROM ${webhookKind.table} FINAL
WHERE workspace_id IN ({workspaces:Array(UInt64)}) AND disabled = 0 ORDER BY workspace_id, id`,
        parameters: { workspaces: workspaceIds.map((id) => BigInt(numberOf('workspace', id))) },
        settings: read,
      });
      const found = new Map<string, WebhookRecord[]>();
      for (const [workspace, data] of rows) {
        const id = formatResourceId('workspace', workspace);
        found.set(id, [...(found.get(id) ?? []), parseData(webhookKind, data)]);
      }
      return found;
    },
    batchSizeMax: WORKSPACES_PER_READ,
    concurrentReadsMax: 2,
  });

  return {
    async of(workspaceId: string): Promise<readonly WebhookRecord[]> {
      const known = kept.get(workspaceId);
      if (isHearing() && known !== undefined && known.untilMs > now()) return known.webhooks;
      const [changesBefore, untilMs] = [changes, now() + KEPT_MS];
      const webhooks = (await look(workspaceId)) ?? [];
      if (changes === changesBefore) kept.set(workspaceId, { webhooks, untilMs });
      return webhooks;
    },

    changed({ records }: CatalogChange): void {
      for (const { table, workspaceId } of records) {
        if (table !== webhookKind.table) continue;
        changes += 1;
        kept.delete(workspaceId);
      }
    },

    missed(): void {
      changes += 1;
      kept.clear();
    },
  };
}
export type ActiveWebhooks = ReturnType<typeof createActiveWebhooks>;
