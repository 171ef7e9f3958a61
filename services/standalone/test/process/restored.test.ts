import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createCatalog } from '@waymark/catalog';
import { loadSettings, readRestoredMark, writeRestoredMark } from '@waymark/config';
import { createLogger } from '@waymark/http-kit';
import { createTestDatabase, startRedis, temporaryDirectory } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { prepareStores } from '../../src/prepare-stores.js';

const BACKUP_AT = '2026-11-21T02:00:00.000Z';
const INSTANCE_KEY = Buffer.alloc(32, 7);
const logger = createLogger({ name: 'test', level: 'silent' });

async function startStores() {
  const [database, redis] = await Promise.all([createTestDatabase(), startRedis()]);
  const dataDir = temporaryDirectory('waymark-restored-');
  const client = new Redis(redis.url);
  const catalog = createCatalog({
    ...{ redis: client, clickhouse: database.client, instanceKey: INSTANCE_KEY, now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });
  onTestFinished(async () => {
    await catalog.close();
    client.disconnect();
    await Promise.all([redis.stop(), database.drop()]);
    rmSync(dataDir, { recursive: true });
  });
  const settings = loadSettings({
    ...{ DATA_DIR: dataDir, INSTANCE_KEY: INSTANCE_KEY.toString('hex') },
    ...{ REDIS_URL: redis.url, CLICKHOUSE_URL: database.url, CLICKHOUSE_DATABASE: database.database },
  });
  const instanceKeys = { current: INSTANCE_KEY, previous: undefined, others: [], deriving: INSTANCE_KEY };
  const lines: string[] = [];
  const prepare = () =>
    prepareStores({
      stores: { redisUrl: redis.url, clickhouseUrl: database.url, instanceKeys },
      ...{ settings, domain: 'localhost', logger, report: (line: string) => lines.push(line) },
    });
  return { catalog, database, client, dataDir, prepare, lines };
}

it('the first start after a restore disables export schedules, deletes caches and expires tokens, once', async () => {
  const { catalog, client, dataDir, prepare, lines } = await startStores();
  await prepare();
  const { id: workspaceId } = (await catalog.workspaces.findBySlug('default')) ?? { id: '' };
  const create = (more: object) =>
    catalog.exportSchedules.create(workspaceId, {
      ...{ resource: 'events', frequency: 'hourly', format: 'csv', columns: null, escapeFormulas: true, filters: {} },
      ...{ rowsPerFile: 1000, exportedUntil: BACKUP_AT, keyId: 'key', hidesFolders: false, hidesPasswords: false },
      destination: {
        ...{ type: 's3', endpoint: null, region: 'us-east-1', bucket: 'a-bucket', prefix: '' },
        ...{ forcePathStyle: true, accessKeyHint: '…' },
      },
      encryptedCredentials: '',
      ...more,
    });
  const enabled = await create({});
  const disabled = await create({ disabledAt: BACKUP_AT, disabledReason: 'It was disabled by a request.' });
  await client.mset('waymark:cache:name:of-the-dump', 'stale', '{waymark}:inserts', '5');
  writeRestoredMark(dataDir, { backupAt: BACKUP_AT });

  await prepare();
  expect(await catalog.exportSchedules.get(workspaceId, enabled.id)).toMatchObject({
    ...{ isRestored: true, disabledAt: expect.any(String), unreported: 'failed', exportedUntil: BACKUP_AT },
    disabledReason: expect.stringContaining(`restored from a backup of ${BACKUP_AT}`),
  });
  expect(await catalog.exportSchedules.get(workspaceId, disabled.id)).toMatchObject({
    ...{ isRestored: true, disabledAt: BACKUP_AT, disabledReason: 'It was disabled by a request.', unreported: null },
  });
  expect(await client.get('waymark:cache:name:of-the-dump')).toBeNull();
  expect(Number(await client.get('{waymark}:inserts'))).toBeGreaterThan(4000);
  expect(lines.join()).toContain('1 export schedules are disabled');
  expect(readRestoredMark(dataDir)).toBeUndefined();

  await catalog.exportSchedules.update(workspaceId, enabled.id, () => ({ disabledAt: null, disabledReason: null }));
  await prepare();
  expect(await catalog.exportSchedules.get(workspaceId, enabled.id)).toMatchObject({ disabledAt: null });
});

it('a mark that cannot be read stops the start', async () => {
  const { dataDir, prepare } = await startStores();
  writeRestoredMark(dataDir, { backupAt: 'not a time' });
  await expect(prepare()).rejects.toThrow(`${join(dataDir, 'restored.json')} cannot be read`);
});

it('a workspace that cannot be read does not stop the start, and no other is made in its place', async () => {
  const { catalog, database, client, prepare } = await startStores();
  await prepare();
  await database.client.command({
    query: `INSERT INTO workspaces SELECT * REPLACE (version + 1 AS version, replaceOne(data, '"plan":"', '"plan":"later-') AS data)
FROM workspaces FINAL`,
  });
  await client.flushall();
  expect(await prepare()).toBeUndefined();
  expect(await catalog.workspaces.listReadable()).toMatchObject({ records: [], unreadable: [expect.any(String)] });
});
