import { createHistogram } from 'node:perf_hooks';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { waitFor } from '@waymark/test-kit';
import { expect, test } from 'vitest';
import { addSamples } from '../src/metrics/samples.js';

/** Flushes the samples of a process once. @returns the statements that it has sent, and the samples by their names */
async function flushed(cluster: string | undefined) {
  const statements: string[] = [];
  const samples = new Map<unknown, unknown>();
  const client = {
    rows: async ({ query }: { query: string }) => {
      statements.push(query);
      return [['links_local', '7', '70']];
    },
  };
  let flush = () => {};
  addSamples({
    ...{ service: 'writer', clickhouse: client as unknown as ClickHouseClient, cluster, now: Date.now },
    components: { instance: 'a:1', redisMemory: () => [], componentStatus: () => [] },
    queue: { queues: () => [], spool: () => undefined },
    opsLog: {
      add: (_table, row) => void samples.set(row[3], row[4]),
      onFlush: (listener) => {
        flush = listener;
      },
      dropped: () => 0,
    },
    loopDelays: createHistogram(),
    missing: { orNone: (_what, sample) => sample },
  });
  flush();
  const rows = await waitFor(async () => samples.get('table_rows:links_local'), { what: 'the size of the table' });
  return { statements, rows };
}

test('the sizes of tables are those of all servers of a cluster, whichever answers', async () => {
  const parts = "FROM clusterAllReplicas('waymark', system.parts)";
  expect(await flushed('waymark')).toEqual({ statements: [expect.stringContaining(parts)], rows: 7 });
  expect(await flushed(undefined)).toEqual({ statements: [expect.stringContaining('FROM system.parts')], rows: 7 });
});
