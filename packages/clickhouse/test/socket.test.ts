import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startClickHouse, type TestClickHouse } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClickHouseClient, insertRows, isInfrastructureError } from '../src/index.js';

describe('a ClickHouse on a unix socket', () => {
  const directory = mkdtempSync(join(tmpdir(), 'waymark-socket-'));
  // Characters that mean something in a URL.
  const socket = join(directory, '50% of #1?.sock');
  let server: TestClickHouse;
  let client: ReturnType<typeof createClickHouseClient>;

  beforeAll(async () => {
    server = await startClickHouse({ socket });
    client = createClickHouseClient({ url: server.url, database: 'default', maxOpenConnections: 2 });
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  it('takes inserts and queries, more at a time than there are connections', async () => {
    await client.command({ query: 'CREATE TABLE numbers (n UInt32) ENGINE = MergeTree ORDER BY n' });
    await insertRows(client, { table: 'numbers', columns: ['n'], rows: [[1], [2], [3]] });
    const sums = await Promise.all([
      ...Array.from({ length: 5 }, () => client.rows<[string]>({ query: 'SELECT sum(n) FROM numbers' })),
      ...Array.from({ length: 5 }, async () => {
        const result = await client.query({ query: 'SELECT sum(n) FROM numbers', format: 'JSONCompactEachRow' });
        return result.json<[string]>();
      }),
    ]);
    expect(sums).toEqual(Array.from({ length: 10 }, () => [['6']]));
  });

  it('is away after a kill, and answers the same client after a restart, although the old socket file was left', async () => {
    await server.kill9();
    expect(existsSync(socket)).toBe(true);
    const refused = await client.rows({ query: 'SELECT 1' }).catch((err: unknown) => err);
    expect(refused).toMatchObject({ syscall: 'connect' });
    expect(isInfrastructureError(refused)).toBe(true);
    await server.restart();
    expect(await client.rows({ query: 'SELECT 1' })).toEqual([[1]]);
    expect(await client.ping()).toEqual({ success: true });
  });

  it('needs its password', async () => {
    const url = new URL(server.url);
    url.password = 'wrong';
    const stranger = createClickHouseClient({ url: url.href, database: 'default' });
    await expect(stranger.rows({ query: 'SELECT 1' })).rejects.toThrow('Authentication failed');
    await stranger.close();
  });

  it('is refused at a path that the system would truncate', () => {
    const url = `http+unix://localhost/${'a'.repeat(107)}`;
    expect(() => createClickHouseClient({ url, database: 'default' })).toThrow('more than 107 bytes');
  });
});
