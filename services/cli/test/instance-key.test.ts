import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { adminKeyFiles, environmentWith, instanceKeyFiles, keyMarks } from '@waymark/config';
import { parseResourceId } from '@waymark/contract';
import { createInstanceRegistry, type Instance } from '@waymark/observability';
import {
  createTestDatabase,
  startRedis,
  startTcpProxy,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from './run-cli.js';

const BIN = fileURLToPath(new URL('../bin/waymark.mjs', import.meta.url));
const [OLD, NEW, LOST] = ['a1', 'b2', 'c3'].map((pair) => pair.repeat(32)) as [string, string, string];
const ROTATING = { INSTANCE_KEY: NEW, INSTANCE_KEY_PREVIOUS: OLD };
const DOMAIN = 'go.acme.example';
/** As many as the command changes in one insert. */
const PAGE = 500;

describe('waymark instance-key', { timeout: 120_000 }, () => {
  let redis: TestRedis;
  let client: Redis;
  let database: TestDatabase;
  let dataDir: string;
  let workspaceId: string;
  const catalogs: Catalog[] = [];

  const environment = (keys: Readonly<Record<string, string>>) => ({
    DATA_DIR: dataDir,
    REDIS_URL: redis.url,
    CLICKHOUSE_URL: database.url,
    CLICKHOUSE_DATABASE: database.database,
    ...keys,
  });
  const waymark = (keys: Readonly<Record<string, string>>, ...args: string[]) => runCommand(environment(keys), ...args);

  function catalogWith(key: string): Catalog {
    const catalog = createCatalog({
      redis: client,
      clickhouse: database.client,
      instanceKey: Buffer.from(key, 'hex'),
      now: Date.now,
      logger: { warn: () => undefined },
      baseUrl: 'http://127.0.0.1:3000',
    });
    catalogs.push(catalog);
    return catalog;
  }
  /** Makes links with passwords that `key` has sealed. @returns their ids in the order in which the command visits them */
  async function links(key: string, count: number): Promise<string[]> {
    const inputs = Array.from({ length: count }, () => ({ domain: DOMAIN, url: 'https://acme.com', password: 'pw' }));
    const made = await catalogWith(key).links.createMany(workspaceId, inputs);
    const numbered = made.map((link) => ('id' in link ? link.id : ''));
    const number = (id: string) => BigInt(parseResourceId('link', id) ?? 0);
    return numbered.sort((one, other) => (number(one) < number(other) ? -1 : 1));
  }
  const resealedLinks = async () => {
    const rows = await database.client.rows<[string]>({
      query: 'SELECT count() FROM links FINAL WHERE version > 1',
    });
    return Number(rows[0]?.[0]);
  };
  /** A process that sends heartbeats and has these keys. */
  async function aProcess(service: string, keys: Instance['keys']): Promise<void> {
    const now = Date.now();
    const instance = { service, instance: `host:${now}`, host: 'host', pid: 1, startedAt: now, version: '0' };
    await createInstanceRegistry(client).started({ ...instance, keys, lastWorkAt: null, beatAt: now });
  }
  const marksOf = (key: string, ...others: string[]) =>
    keyMarks({ current: Buffer.from(key, 'hex'), others: others.map((one) => Buffer.from(one, 'hex')) });

  beforeAll(async () => {
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    client = new Redis(redis.url);
    ({
      workspace: { id: workspaceId },
    } = await catalogWith(OLD).workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: DOMAIN }));
  });
  beforeEach(async () => {
    dataDir = temporaryDirectory('waymark-cli-');
    await database.client.command({ query: 'TRUNCATE TABLE links' });
    await client.flushall();
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));
  afterAll(async () => {
    await Promise.all(catalogs.map((catalog) => catalog.close()));
    client.disconnect();
    await Promise.all([redis.stop(), database.drop()]);
  });

  it('reseal re-seals every value, says how many, and that the previous key can be removed', async () => {
    await links(OLD, 3);
    const check = await waymark(ROTATING, 'instance-key', 'reseal', '--check');
    expect(check.code).toBe(1);
    expect(check.stdout).toContain('Values that need the previous key: 3. Run: npx waymark instance-key reseal');
    expect(await resealedLinks()).toBe(0);

    const run = await waymark(ROTATING, 'instance-key', 'reseal');
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(run.stdout.split('\n')).toEqual([
      '                    CURRENT KEY  PREVIOUS KEY  UNKNOWN KEY',
      'link passwords      3            0             0',
      'webhook secrets     0            0             0',
      'export credentials  0            0             0',
      'import credentials  0            0             0',
      'Values re-sealed: 3.',
      'INSTANCE_KEY_PREVIOUS can be removed; then restart Waymark.',
      '',
    ]);
    expect(await resealedLinks()).toBe(3);

    const again = await waymark(ROTATING, 'instance-key', 'reseal', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      counts: { 'link password': { current: 3, resealed: 0, other: 0, unknown: 0 } },
      isPreviousKeyNeeded: false,
    });
    expect((await waymark({ INSTANCE_KEY: NEW }, 'instance-key', 'reseal', '--check')).code).toBe(0);
  });

  it('reseal re-seals the credentials of imports that have not ended, in their files', async () => {
    const directories = ['one', 'two', 'lost'];
    const fileOf = (directory: string) => join(dataDir, 'imports', directory, 'credential');
    for (const directory of directories) {
      mkdirSync(join(dataDir, 'imports', directory), { recursive: true });
      const { importJobs } = catalogWith(directory === 'lost' ? LOST : OLD);
      writeFileSync(fileOf(directory), importJobs.seal(`key of ${directory}`, directory), { mode: 0o600 });
    }
    mkdirSync(join(dataDir, 'imports', 'of-a-file'));
    const check = await waymark(ROTATING, 'instance-key', 'reseal', '--check');
    expect(check.stdout).toContain('import credentials  0            2             1');
    const run = await waymark(ROTATING, 'instance-key', 'reseal');
    expect(run.code).toBe(1);
    expect(run.stdout).toContain('They belong to lost.');
    expect(run.stdout).toContain('Values re-sealed: 2.');
    const { importJobs } = catalogWith(NEW);
    const opened = ['one', 'two'].map((name) => importJobs.unseal(readFileSync(fileOf(name), 'utf8'), name));
    expect(opened).toEqual(['key of one', 'key of two']);
    expect(statSync(fileOf('one')).mode & 0o077).toBe(0);
    expect(JSON.stringify(run)).not.toContain('key of one');
  });

  it('reseal that is killed with kill -9 is repeated and re-seals the rest', async () => {
    const ids = await links(OLD, PAGE + 100);
    // The first lock of the second page: the command waits there.
    const locks = ids.slice(PAGE).map((id) => `waymark:lock:record/links/${id}`);
    const [held = ''] = locks.sort();
    await client.set(held, 'a request');
    const child = spawn(process.execPath, [BIN, 'instance-key', 'reseal'], {
      env: environmentWith(environment(ROTATING)),
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
    await waitFor(async () => (await resealedLinks()) === PAGE, { what: 'the first page to be re-sealed' });
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    await client.del(held);

    const rerun = await waymark(ROTATING, 'instance-key', 'reseal');
    // Progress, if it took long.
    expect([rerun.code, rerun.stderr]).toEqual([
      0,
      expect.stringMatching(/^([\d,]+ values visited, [\d,]+ re-sealed\n)*$/),
    ]);
    expect(rerun.stdout).toContain('Values re-sealed: 100.');
    const catalog = catalogWith(NEW);
    const found = await catalog.links.findMany(workspaceId, ids);
    expect(found.map(catalog.links.passwordOf)).toEqual(ids.map(() => 'pw'));
  });

  it('reseal says what to do when ClickHouse is too slow', async () => {
    const url = new URL(database.url);
    const proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    proxy.holdAnswers();
    try {
      const run = await waymark({ ...ROTATING, CLICKHOUSE_URL: url.href }, 'instance-key', 'reseal');
      expect(run).toMatchObject({
        code: 1,
        stderr:
          'waymark: ClickHouse has not answered in time. What the command has done so far is kept; run it again when ClickHouse is less busy.\n',
      });
    } finally {
      await proxy.stop();
    }
  });

  it('reseal is refused while a running process could not read the result, and names it', async () => {
    await links(OLD, 1);
    await aProcess('ingest', marksOf(OLD));
    await aProcess('query', undefined);
    await aProcess('management', marksOf(OLD, NEW));
    const { code, stderr } = await waymark(ROTATING, 'instance-key', 'reseal');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /these processes do not accept the current instance key.*: ingest host:\d+, query host:\d+\n$/,
    );
    expect(await resealedLinks()).toBe(0);
  });

  it('reseal is refused while the next key is not the current one yet', async () => {
    const { code, stderr } = await waymark({ INSTANCE_KEY: OLD, INSTANCE_KEY_NEXT: NEW }, 'instance-key', 'reseal');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('INSTANCE_KEY_NEXT is set: first make it INSTANCE_KEY'),
    ]);
  });

  it('reseal does not let the previous key go while a process seals with it', async () => {
    await aProcess('management', marksOf(OLD, NEW));
    const { code, stdout } = await waymark(ROTATING, 'instance-key', 'reseal');
    expect(code).toBe(1);
    expect(stdout).toMatch(/These processes still seal with another key, restart them and repeat: management host:\d+/);
    expect(stdout).not.toContain('can be removed');
  });

  it('a key that was removed too early is missed by reseal, which says how many values need it and whose', async () => {
    const [id = ''] = await links(LOST, 2);
    await links(OLD, 1);
    for (const args of [['reseal'], ['reseal', '--check']]) {
      const { code, stdout } = await waymark({ INSTANCE_KEY: NEW }, 'instance-key', ...args);
      expect(code).toBe(1);
      expect(stdout).toContain(
        'Values that were sealed with a key that is not here: 3. Set INSTANCE_KEY_PREVIOUS to it',
      );
      expect(stdout).toContain(id);
    }
    const partly = await waymark(ROTATING, 'instance-key', 'reseal');
    expect([partly.code, partly.stdout]).toEqual([1, expect.stringContaining('Values re-sealed: 1.')]);
    expect(partly.stdout).toContain('Values that were sealed with a key that is not here: 2.');
  });

  it('the same key twice is refused by the name of the setting, and no output shows a key', async () => {
    const same = await waymark({ INSTANCE_KEY: NEW, INSTANCE_KEY_PREVIOUS: NEW }, 'instance-key', 'reseal');
    expect(same.code).toBe(1);
    expect(same.stderr).toContain('INSTANCE_KEY_PREVIOUS: must be another key than INSTANCE_KEY');
    expect(same.stderr).not.toMatch(/(?:a1|b2){4}/);
  });

  it('rotate makes a new key file, keeps the previous one, and is refused where keys are settings', async () => {
    for (const keyFiles of [instanceKeyFiles, adminKeyFiles]) keyFiles.ensure(dataDir);
    const files = () => ['instance', 'admin'].map((name) => readFileSync(join(dataDir, `${name}.key`), 'utf8').trim());
    const before = files();
    for (const kind of ['instance-key', 'admin-key']) {
      const { code, stdout, stderr } = await waymark({}, kind, 'rotate');
      expect([code, stderr]).toEqual([0, '']);
      for (const key of [...before, ...files()]) expect(stdout).not.toContain(key);
      const again = await waymark({}, kind, 'rotate');
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('has the key of an earlier rotation')]);
    }
    expect(files().filter((key) => before.includes(key))).toEqual([]);
    const previous = ['instance', 'admin'].map((name) => readFileSync(join(dataDir, `${name}-previous.key`), 'utf8'));
    expect(previous.map((key) => key.trim())).toEqual(before);

    const adminKey = randomBytes(32).toString('hex');
    const refusals = [
      await waymark({ INSTANCE_KEY: NEW }, 'instance-key', 'rotate'),
      await waymark({ ADMIN_KEY: adminKey }, 'admin-key', 'rotate'),
    ];
    expect(refusals.map(({ code, stderr }) => [code, stderr.split(',')[0]])).toEqual([
      [1, 'waymark: INSTANCE_KEY is set'],
      [1, 'waymark: ADMIN_KEY is set'],
    ]);
  });

  it('rotate that is repeated after it was killed between its two files completes the rotation', async () => {
    for (const [kind, keyFiles] of [
      ['instance-key', instanceKeyFiles],
      ['admin-key', adminKeyFiles],
    ] as const) {
      keyFiles.ensure(dataDir);
      const [file, previousFile] = [keyFiles.fileIn(dataDir), keyFiles.previousFileIn(dataDir)];
      const key = readFileSync(file, 'utf8');
      writeFileSync(previousFile, key);
      expect((await waymark({}, kind, 'rotate')).code).toBe(0);
      expect(readFileSync(previousFile, 'utf8')).toBe(key);
      expect(readFileSync(file, 'utf8')).not.toBe(key);
    }
  });
});
