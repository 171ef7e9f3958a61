import type { ClickHouseClient } from '@waymark/clickhouse';
import { expect, test } from 'vitest';
import { PANEL_GROUPS } from '../src/ops/panel-groups.js';
import { createPanelReader } from '../src/ops/panel-reader.js';
import { OPS_RANGES } from '../src/ops/range.js';

const ids = PANEL_GROUPS.flatMap(({ panels }) => panels.map(({ id }) => id));
const [range] = OPS_RANGES;
const CACHED_MS = 60_000;

/** A reader whose queries of the panels named do not end before the time limit, with what it logs. */
function aReader(slow: (id: string) => boolean) {
  const logs: string[] = [];
  let nowMs = Date.now();
  const rows = ({ settings, signal }: Parameters<ClickHouseClient['rows']>[0]) =>
    new Promise<never[]>((resolve, reject) => {
      if (!slow(String(settings?.log_comment).replace('GET /ops ', ''))) return resolve([]);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const logger = { warn: (context: object) => void logs.push((context as { panel: string }).panel) };
  const clickhouse = { rows } as unknown as ClickHouseClient;
  const reader = createPanelReader({ clickhouse, logger, now: () => nowMs, readMsMax: 100 });
  const read = (afterMs = CACHED_MS) => {
    nowMs += afterMs;
    return reader.read(range, false);
  };
  return { read, logs };
}

test('panels that take too long do not take the time of the others, and each is logged once', async () => {
  const { read, logs } = aReader((id) => id === 'requests' || id === 'durations');
  const first = await read();
  expect(first.failures.disks).toBe('This panel took too long to read.');
  expect(first.plots.events).toBeDefined();
  const { failures, tables } = await read();
  expect(Object.keys(failures).toSorted()).toEqual(['durations', 'requests']);
  expect(failures.requests).toBe('This panel took too long to read.');
  expect(tables.disks).toBeDefined();
  await read();
  expect(logs.toSorted()).toEqual(Object.keys(first.failures).toSorted());
});

test('each of several slow panels is tried in turn', async () => {
  const tried = new Set<string>();
  const { read } = aReader((id) => {
    tried.add(id);
    return ['requests', 'durations', 'workspaces'].includes(id);
  });
  await read();
  await read();
  for (const _refresh of [1, 2, 3]) {
    tried.clear();
    expect(Object.keys((await read()).failures)).toHaveLength(3);
    await read();
    expect([...tried].toSorted()).toEqual(ids.toSorted());
  }
});

test('panels are read anew after the clock of the machine was set back', async () => {
  let reads = 0;
  const { read } = aReader(() => {
    reads += 1;
    return false;
  });
  await read();
  await read(0);
  expect(reads).toBe(ids.length);
  await read(-600_000);
  expect(reads).toBe(2 * ids.length);
});

test('a ClickHouse that answers nothing is away', async () => {
  const { failures } = await aReader(() => true).read();
  expect(failures).toEqual(Object.fromEntries(ids.map((id) => [id, 'ClickHouse does not answer.'])));
});
