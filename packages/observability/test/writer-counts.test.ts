import type { ClickHouseClient } from '@waymark/clickhouse';
import { expect, test } from 'vitest';
import { createWriterCounts } from '../src/metrics/writer-counts.js';
import { createOpsLog } from '../src/ops-log.js';
import { aBatch } from './write-report.js';

type WorkspaceMinute = readonly [minute: number, workspaceId: string, kind: string, events: number, lagMsMax: number];

const MINUTE_MS = Date.UTC(2026, 0, 1);

test('hundreds of workspaces in each of hundreds of batches between two flushes are counted without a loss', async () => {
  const stored: WorkspaceMinute[] = [];
  const insert = async ({ table, values }: { readonly table: string; readonly values: readonly WorkspaceMinute[] }) => {
    if (table === 'ops_workspace_minutes') stored.push(...values);
  };
  const clickhouse = { insert } as unknown as ClickHouseClient;
  const opsLog = createOpsLog({ clickhouse, logger: { debug() {}, warn() {} }, intervalMs: 3_600_000 });
  const counts = createWriterCounts({ instance: 'a:1', opsLog, now: Date.now });
  const workspaces = (lagMsMax: number) =>
    new Map(Array.from({ length: 600 }, (_, index) => [`${index}`, { events: 2, lagMsMin: 1, lagMsMax }]));
  for (let batch = 0; batch < 300; batch += 1) {
    const kind = batch % 3 === 0 ? 'lead' : 'click';
    counts.count(aBatch({ kind, storedMs: MINUTE_MS + batch * 300, workspaces: workspaces(100 + batch) }));
  }
  await opsLog.flush();
  counts.count(aBatch({ storedMs: MINUTE_MS, workspaces: new Map([['7', { events: 5, lagMsMin: 1, lagMsMax: 3 }]]) }));
  await opsLog.close();

  expect(opsLog.dropped()).toBe(0);
  expect(stored.reduce((sum, [, , , events]) => sum + events, 0)).toBe(300 * 600 * 2 + 5);
  const ofOne = stored.filter(([, workspaceId]) => workspaceId === '7');
  const minute = MINUTE_MS / 1000;
  expect(ofOne).toEqual([
    [minute, '7', 'lead', 134, 298],
    [minute, '7', 'click', 266, 299],
    [minute + 60, '7', 'click', 134, 399],
    [minute + 60, '7', 'lead', 66, 397],
    [minute, '7', 'click', 5, 3],
  ]);
});
