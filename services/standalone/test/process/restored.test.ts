import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readRestoredMark, writeRestoredMark } from '@waymark/config';
import { expect, it, onTestFinished } from 'vitest';
import { removeUp, runUp, temporaryDataDir } from './run-up.js';
import { storesToPrepare } from './stores-to-prepare.js';

const BACKUP_AT = '2026-11-21T02:00:00.000Z';

it('the first start after a restore disables export schedules, deletes caches and expires tokens, once', async () => {
  const { catalog, client, dataDir, prepare, lines } = await storesToPrepare();
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
  const { dataDir, prepare } = await storesToPrepare();
  writeRestoredMark(dataDir, { backupAt: 'not a time' });
  await expect(prepare()).rejects.toThrow(`${join(dataDir, 'restored.json')} cannot be read`);
});

it('no stack starts on a part of a backup, which a killed restore has left', async () => {
  const dataDir = temporaryDataDir();
  writeRestoredMark(dataDir, { backupAt: BACKUP_AT, isPartial: true });
  const up = runUp(dataDir);
  onTestFinished(() => removeUp(up));
  expect(await up.ended()).toBe(1);
  expect(up.output()).toContain(`only a part of the backup of ${BACKUP_AT}`);
  expect(readdirSync(dataDir)).toEqual(['restored.json']);
});

it('a workspace that cannot be read does not stop the start, and no other is made in its place', async () => {
  const { catalog, database, client, prepare } = await storesToPrepare();
  await prepare();
  await database.client.command({
    query: `INSERT INTO workspaces SELECT * REPLACE (version + 1 AS version, replaceOne(data, '"plan":"', '"plan":"later-') AS data)
FROM workspaces FINAL`,
  });
  await client.flushall();
  expect(await prepare()).toBeUndefined();
  expect(await catalog.workspaces.listReadable()).toMatchObject({ records: [], unreadable: [expect.any(String)] });
});
