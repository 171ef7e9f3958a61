import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';
import type { NamesTable } from '../store/unique-names.js';
import type { createLinkChanges } from './link-changes.js';
import { readUtm } from './link-url.js';

export interface LinkTestsDeps {
  readonly clickhouse: ClickHouseClient;
  readonly settings: Readonly<Record<string, number>>;
  readonly namesTable: Pick<NamesTable, 'ids'>;
  readonly store: Pick<RecordStore<LinkRecord>, 'get'>;
  readonly update: ReturnType<typeof createLinkChanges>['update'];
}

/** When tests ended: after `fromMs`, up to and including `untilMs`. */
export interface EndedWithin {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Skips links that were changed since their test ended, because a user may have chosen a variant already. */
  readonly untouchedOnly: boolean;
  /** Returns a number from 0 up to but not including 1; chooses between variants with equally many leads. */
  readonly random: () => number;
}

const WORKSPACES_PER_READ = 1000;

/** Also finds links by older versions of their rows; `end` checks the current record afterwards. */
const ENDED = `
SELECT DISTINCT workspace_id, id FROM links
WHERE workspace_id IN {workspaces:Array(UInt64)}
  AND test_completed_at > fromUnixTimestamp64Milli({from:Int64}, 'UTC')
  AND test_completed_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')`;

const LEADS_BY_URL = `
SELECT url_base, count() FROM lead_events
WHERE workspace_id = {workspace:UInt64} AND link_id = {link:UInt64}
  AND timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
  AND timestamp < fromUnixTimestamp64Milli({until:Int64}, 'UTC')
GROUP BY url_base`;

function baseOf(url: string): string {
  const queryStart = url.indexOf('?');
  return queryStart < 0 ? url : url.slice(0, queryStart);
}

/** Completes A/B tests of links. */
export function createLinkTests({ clickhouse, settings, namesTable, store, update }: LinkTestsDeps) {
  async function endedLinks({ fromMs, untilMs }: EndedWithin): Promise<(readonly [string, string])[]> {
    const workspaces = await namesTable.ids('workspace');
    const found: (readonly [string, string])[] = [];
    for (let start = 0; start < workspaces.length; start += WORKSPACES_PER_READ) {
      const rows = await queryRows<[string, string]>(clickhouse, {
        query: ENDED,
        parameters: {
          workspaces: workspaces.slice(start, start + WORKSPACES_PER_READ).map(BigInt),
          from: fromMs,
          until: untilMs,
        },
        settings,
      });
      for (const [workspace, id] of rows) {
        found.push([formatResourceId('workspace', workspace), formatResourceId('link', id)]);
      }
    }
    return found;
  }

  async function leadsByUrl(link: LinkRecord, untilMs: number): Promise<Map<string, number>> {
    const rows = await queryRows<[string, string]>(clickhouse, {
      query: LEADS_BY_URL,
      parameters: {
        workspace: numberOf('workspace', link.workspaceId),
        link: numberOf('link', link.id),
        from: Date.parse(link.testStartedAt ?? link.createdAt),
        until: untilMs,
      },
      settings,
    });
    return new Map(rows.map(([url, count]) => [url, Number(count)]));
  }

  /** The variant with the most leads; undefined when none has any. */
  async function winnerOf(link: LinkRecord, endedAtMs: number, random: () => number): Promise<string | undefined> {
    const leads = await leadsByUrl(link, endedAtMs);
    const counted = (link.testVariants ?? []).map(({ url }) => ({ url, count: leads.get(baseOf(url)) ?? 0 }));
    const most = Math.max(0, ...counted.map(({ count }) => count));
    const best = most === 0 ? [] : counted.filter(({ count }) => count === most);
    return best[Math.floor(random() * best.length)]?.url;
  }

  async function end(workspaceId: string, id: string, within: EndedWithin): Promise<LinkRecord | undefined> {
    const link = await store.get(workspaceId, id);
    if (link === undefined || link.testVariants === null || link.testCompletedAt === null) return undefined;
    const { testCompletedAt } = link;
    const endedAtMs = Date.parse(testCompletedAt);
    if (endedAtMs <= within.fromMs || endedAtMs > within.untilMs) return undefined;
    if (within.untouchedOnly && Date.parse(link.updatedAt) > endedAtMs) return undefined;
    const url = await winnerOf(link, endedAtMs, within.random);
    if (url === undefined || url === link.url) return undefined;
    // If the test is extended at the same time, the extension wins.
    const ended = (record: LinkRecord) =>
      record.testCompletedAt === testCompletedAt ? { ...record, url, ...readUtm(url) } : record;
    const updated = await update(workspaceId, id, ended);
    return updated.url === url ? updated : undefined;
  }

  return {
    /** Sets the destination of links whose test has ended to the variant with the most leads. @returns the changed links */
    async complete(within: EndedWithin): Promise<LinkRecord[]> {
      const changed: LinkRecord[] = [];
      for (const [workspaceId, id] of await endedLinks(within)) {
        const link = await end(workspaceId, id, within);
        if (link !== undefined) changed.push(link);
      }
      return changed;
    },
  };
}
