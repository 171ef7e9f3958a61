import { insertClicks } from '@waymark/test-kit';
import { benchClick } from '../lib/bench-clicks.js';
import { closedLoop } from '../lib/http-load.js';
import { processCpuMicroseconds } from '../lib/process-cpu.js';
import { startService } from '../lib/service.js';
import type { BenchStores } from '../lib/stores.js';

const SMALL = { inserts: 40, rows: 20 };
const LARGE = { inserts: 8, rows: 20_000 };

/** Microseconds of ClickHouse's CPU for an insert regardless of its rows, and for each of its rows, including views and merges. */
export async function measureInserts({ client, clickhouse }: BenchStores) {
  let next = 0;
  const run = async ({ inserts, rows }: typeof SMALL) => {
    const before = processCpuMicroseconds(clickhouse.pid);
    for (let insert = 0; insert < inserts; insert++) {
      await insertClicks(
        client,
        Array.from({ length: rows }, () => benchClick(next++)),
      );
    }
    // The inserted parts would be merged sooner or later.
    await client.command({ query: 'OPTIMIZE TABLE click_events' });
    return (processCpuMicroseconds(clickhouse.pid) - before) / inserts;
  };
  await run(SMALL);
  const small = await run(SMALL);
  const large = await run(LARGE);
  const perRow = (large - small) / (LARGE.rows - SMALL.rows);
  return { perInsert: small - perRow * SMALL.rows, perRow };
}

/** Microseconds of CPU per request, of the query service and of ClickHouse, for a workspace with many events. */
export async function measureQueries({ clickhouse, environment }: BenchStores, token: string, count: number) {
  const query = await startService('query', environment);
  const used = async (path: string) => {
    const request = () => `GET ${path} HTTP/1.1\r\nHost: api.bench.test\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const load = (requests: number) => closedLoop({ port: query.port, connections: 4, count: requests, request });
    await load(8);
    const before = [processCpuMicroseconds(query.pid), processCpuMicroseconds(clickhouse.pid)] as const;
    const { statuses } = await load(count);
    if (statuses['200'] !== count) throw new Error(`${path}: ${JSON.stringify(statuses)}`);
    return {
      service: (processCpuMicroseconds(query.pid) - before[0]) / count,
      store: (processCpuMicroseconds(clickhouse.pid) - before[1]) / count,
    };
  };
  try {
    return {
      events: await used('/events?event=clicks&interval=30d'),
      counts: await used('/analytics?event=composite&groupBy=timeseries&interval=30d'),
      groups: await used('/analytics?event=clicks&groupBy=countries&interval=90d'),
    };
  } finally {
    await query.stop();
  }
}
