import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Catalog, createCatalog } from '@waymark/catalog';
import { environmentWith } from '@waymark/config';
import { parseResourceId } from '@waymark/contract';
import {
  aClick,
  createTestDatabase,
  insertClicks,
  startRedis,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BIN, runCommand } from '../run-cli.js';
import { type KillableApi, startKillableApi } from './killable-api.js';

// `waymark export` against a process of the API, which is killed in the middle of a response.

const INSTANCE_KEY = '07'.repeat(32);
/** More than two statements read. */
const CLICKS = 9000;
/** In the middle of the response, in all formats. */
const CUT_BYTES = 150_000;

describe('waymark export', { timeout: 120_000 }, () => {
  let redis: TestRedis;
  let client: Redis;
  let database: TestDatabase;
  let catalog: Catalog;
  let api: KillableApi;
  let workspaceId: string;
  let key: string;
  const links: Record<string, { readonly id: string }> = {};
  let env: Record<string, string>;
  const dataDir = temporaryDirectory('waymark-cli-export-');
  const directory = join(dataDir, 'files');
  const target = join(directory, 'made');

  beforeAll(async () => {
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    env = {
      ...{ DATA_DIR: dataDir, REDIS_URL: redis.url, CLICKHOUSE_URL: database.url, INSTANCE_KEY },
      CLICKHOUSE_DATABASE: database.database,
    };
    client = new Redis(redis.url);
    catalog = createCatalog({
      ...{ redis: client, clickhouse: database.client, instanceKey: Buffer.from(INSTANCE_KEY, 'hex'), now: Date.now },
      ...{ logger: { warn: () => undefined }, baseUrl: 'https://api.example.com' },
    });
    const domain = 'go.acme.com';
    const made = await catalog.workspaces.create({ name: 'Acme', slug: 'default', plan: 'enterprise', domain });
    workspaceId = made.workspace.id;
    key = made.apiKey.token;
    await catalog.workspaces.update(workspaceId, { analyticsPerSecond: 1000, requestsPerMinute: 10_000 });
    for (const name of ['listed', 'later'] as const) {
      links[name] = await catalog.links.create(workspaceId, { domain, key: name, url: 'https://acme.com/?a="1"' });
    }
    const ids = linkIds('listed');
    const nowMs = Date.now() - 60_000;
    await insertClicks(
      database.client,
      Array.from({ length: CLICKS }, (_, index) =>
        // Three share each millisecond; a field of CSV has quotes and an end of line.
        aClick({
          ...ids,
          timestampMs: nowMs - Math.floor(index / 3),
          city: index % 4 === 0 ? 'Bad "X"\nY, Z' : 'Köln',
        }),
      ),
    );
    api = await startKillableApi(env);
  }, 120_000);
  afterAll(async () => {
    await api.stop();
    await catalog.close();
    client.disconnect();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    await Promise.all([redis.stop(), database.drop()]);
  });
  beforeEach(() => {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory);
  });

  function linkIds(name: string) {
    return {
      workspaceId: parseResourceId('workspace', workspaceId) ?? '',
      linkId: parseResourceId('link', links[name]?.id ?? '') ?? '',
    };
  }
  const waymark = (...args: string[]) => runCommand(env, 'export', ...args, '--api', api.url);
  const toFile = (...args: string[]) => waymark(...args, '--output', target);
  async function expected(path: string): Promise<Buffer> {
    const response = await fetch(`${api.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    expect(response.status).toBe(200);
    return Buffer.from(await response.arrayBuffer());
  }
  async function keyNames(): Promise<string[]> {
    return (await catalog.keys.list(workspaceId)).map(({ name }) => name).filter((name) => name.startsWith('Export'));
  }

  it.each([
    ['events', ['--format', 'ndjson', '--sort-order', 'asc'], '/events/export?format=ndjson&sortOrder=asc'],
    ['events', ['--job', '--format', 'ndjson'], '/events/export?format=ndjson'],
    // Without the ids of its rows, so a job makes it.
    ['events', ['--columns', 'city,ip'], '/events/export?columns=city,ip'],
    ['links', ['--columns', 'id,link,clicks'], '/links/export?columns=id,link,clicks'],
    ['customers', [], '/customers/export'],
  ])('has the bytes of GET /%s/export, and says so in JSON', async (resource, options, path) => {
    const { code, stdout, stderr } = await toFile(resource, ...options, '--json');
    expect([code, stderr]).toEqual([0, '']);
    const bytes = await expected(path);
    expect(readFileSync(target).equals(bytes)).toBe(true);
    expect(JSON.parse(stdout)).toMatchObject({ file: target, bytes: bytes.length });
    // Others on this machine must not read addresses of visitors.
    expect(statSync(target).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['the response of NDJSON', ['--format', 'ndjson'], '/events/export?format=ndjson&interval=7d'],
    ['the response of CSV', ['--sort-order', 'asc'], '/events/export?interval=7d&sortOrder=asc'],
    ['the file of Parquet', ['--format', 'parquet'], '/events/export?format=parquet&interval=7d'],
  ])(
    'continues by itself when the server is killed in the middle, without what happened since: %s',
    async (_what, options, path) => {
      const bytes = await expected(path);
      let isNamed: boolean | undefined;
      api.after(CUT_BYTES, async () => {
        isNamed = existsSync(target);
        await insertClicks(database.client, [aClick({ ...linkIds('later'), timestampMs: Date.now() })]);
        await api.restart();
      });
      const { code, stderr, stdout } = await toFile('events', '--interval', '7d', ...options);
      expect([code, isNamed], stderr).toEqual([0, false]);
      expect(stderr).toMatch(/the connection to the API is lost; trying again/);
      expect(stdout).toMatch(/made: 9,00\d rows, [\d.]+ MB in [\d.]+ s\nNext: /);
      expect(readFileSync(target).equals(bytes)).toBe(true);
      expect(readdirSync(directory)).toEqual(['made']);
      expect(await keyNames()).toEqual([]);
    },
  );

  it('writes analytics as a zip archive', async () => {
    const { code, stderr } = await toFile('analytics', '--event', 'clicks', '--group-by', 'countries,devices');
    expect([code, stderr]).toEqual([0, '']);
    const file = readFileSync(target);
    expect(file.subarray(0, 2).toString()).toBe('PK');
    expect(file.toString('latin1')).toMatch(/countries\.csv[\s\S]*devices\.csv/);
  });

  it.each([
    [['orders'], /there is no export of "orders"; exports are: events, links, customers, analytics/],
    [['events', '--format', 'xlsx'], /--format must be one of csv, ndjson, parquet/],
    [['events', '--columns', 'clickId,nonsense'], /columns: has no column "nonsense"/],
    [['events', '--columns', 'nonsense'], /columns: has no column "nonsense"/],
    [['links', '--country', 'DE'], /country: is not a parameter of this request/],
    [['events', '--page', '2'], /Unknown option `--page`/],
  ])('%j ends with the reason, and leaves no file and no key', async (args, message) => {
    const { code, stdout, stderr } = await toFile(...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
    expect(readdirSync(directory)).toEqual([]);
    expect(await keyNames()).toEqual([]);
  });

  it('an interrupted export leaves no file and no key, and keeps the file of an earlier one', async () => {
    await toFile('links');
    const before = readFileSync(target);
    let child: ReturnType<typeof spawn> | undefined;
    api.after(CUT_BYTES, async () => child?.kill('SIGINT'));
    const args = [BIN, 'export', 'events', '--api', api.url, '--output', target];
    child = spawn(process.execPath, args, { env: environmentWith(env), stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr?.on('data', (text: Buffer) => {
      stderr += text.toString();
    });
    const [code] = await once(child, 'close');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/interrupted, the export is not complete/)]);
    expect(readdirSync(directory)).toEqual(['made']);
    expect(readFileSync(target).equals(before)).toBe(true);
    expect(await keyNames()).toEqual([]);
    api.pass();
  });

  it('streams the whole export to standard output, and ends when its reader ends', async () => {
    const lines = async (command: string) => {
      const child = spawn('sh', ['-c', `"$NODE" "$BIN" export events --format ndjson --api "$API" ${command}`], {
        env: environmentWith({ ...env, NODE: process.execPath, BIN, API: api.url }),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const output = { stdout: '', stderr: '' };
      child.stdout.on('data', (text: Buffer) => {
        output.stdout += text.toString();
      });
      child.stderr.on('data', (text: Buffer) => {
        output.stderr += text.toString();
      });
      await once(child, 'close');
      return output;
    };
    // Two exports run at a time.
    const [all, two] = await Promise.all([lines('| wc -l'), lines('| head -n 2')]);
    const full = await lines('> /dev/full; echo $?');
    expect(full).toEqual({ stdout: '1\n', stderr: expect.stringContaining('waymark: standard output: ENOSPC') });
    expect(two.stderr).toContain('the reader of standard output has ended');
    expect(Number(all.stdout)).toBeGreaterThanOrEqual(CLICKS);
    expect(all.stderr).toMatch(/^waymark: standard output: 9,00\d rows, [^\n]+\n$/);
    expect(
      two.stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { event: string }).event),
    ).toEqual(['click', 'click']);
    await waitFor(async () => (await keyNames()).length === 0, { what: 'the keys to be revoked' });
  });
});
