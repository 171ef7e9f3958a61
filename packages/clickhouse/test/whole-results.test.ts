import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type EngineSession, startEngineAs, temporaryDirectory } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createClickHouseClient } from '../src/index.js';

// The embedded server has one user without a profile. So the settings that the client sends are given to an engine whose user has one.

const directory = temporaryDirectory('waymark-profile-');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The settings that a client sends with a read, as a SETTINGS clause. */
let sent: string;
beforeAll(async () => {
  let search = new URLSearchParams();
  const server = createServer((request, response) => {
    request.resume();
    search = new URL(request.url ?? '/', 'http://localhost').searchParams;
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClickHouseClient({ url, database: 'default' });
  await client.rows({ query: 'SELECT 1' });
  await client.close();
  server.close();
  search.delete('database');
  sent = [...search].map(([name, value]) => `${name} = '${value}'`).join(', ');
});

async function engineOf(settings: Readonly<Record<string, string>>): Promise<EngineSession> {
  const user = { name: 'user', grants: [], settings, filters: {} };
  const engine = await startEngineAs(mkdtempSync(join(directory, 'store-')), user, []);
  onTestFinished(() => engine.stop());
  return engine;
}

/** Runs a read as the HTTP interface does, with settings beside it. @returns the number of its rows */
async function countRows(engine: EngineSession, settings: string): Promise<number> {
  const read = 'SELECT number, any(sleepEachRow(0.01)) FROM numbers(200) GROUP BY number';
  const text = await engine.run(`${read} FORMAT TSVRaw SETTINGS max_threads = 1, max_block_size = 5, ${settings}`);
  return text.trimEnd().split('\n').length;
}

test('a profile that shortens results at a limit does not shorten reads, which fail at the limit', async () => {
  const engine = await engineOf({
    ...{ read_overflow_mode: 'break', timeout_overflow_mode: 'break' },
    ...{ result_overflow_mode: 'break', group_by_overflow_mode: 'any' },
  });
  for (const limit of ['max_rows_to_read', 'max_execution_time', 'max_result_rows', 'max_rows_to_group_by']) {
    const limited = `${limit} = ${limit === 'max_execution_time' ? 1 : 10}`;
    expect([limit, (await countRows(engine, limited)) < 200]).toEqual([limit, true]);
    const settings = sent.replace(/, max_execution_time = '\d+'/, '');
    await expect(countRows(engine, `${settings}, ${limited}`)).rejects.toThrow(/exceeded/i);
  }
});

test('a profile that limits every result, and lets its user only read, takes the settings of a read', async () => {
  const engine = await engineOf({ limit: '10', offset: '1', readonly: '2' });
  expect(await countRows(engine, 'max_block_size = 5')).toBe(10);
  expect(await countRows(engine, sent)).toBe(200);
  await expect(engine.run('CREATE TABLE t (a UInt8) ENGINE = Memory')).rejects.toThrow('READONLY');
});
