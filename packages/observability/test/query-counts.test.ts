import { expect, test } from 'vitest';
import { createQueryCounts } from '../src/metrics/query-counts.js';

test('an endpoint is counted from its first query on, so that its counters grow from 0 with the first failure', () => {
  const logged: unknown[] = [];
  const counts = createQueryCounts({ opsLog: { add: (...row) => void logged.push(row) }, now: () => 0 });
  const caller = { endpoint: 'GET /events', workspaceId: 'ws_1', requestId: 'r' };
  const report = { durationMs: 2, readRows: 0, readBytes: 0, error: '' };
  counts.count(caller, report);
  expect([...counts.failed(), ...counts.slow()]).toEqual([
    ['GET /events', 0],
    ['GET /events', 0],
  ]);
  expect(logged).toEqual([]);
  counts.count(caller, { ...report, error: 'TIMEOUT_EXCEEDED' });
  counts.count(caller, { ...report, durationMs: 1000 });
  expect([...counts.failed(), ...counts.slow()]).toEqual([
    ['GET /events', 1],
    ['GET /events', 1],
  ]);
  expect(logged).toHaveLength(2);
});
