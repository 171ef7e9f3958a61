import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseResourceId } from '@waymark/contract';
import {
  aClick,
  freePort,
  insertClicks,
  startStores,
  storeSettings,
  type TestDatabase,
  type TestStores,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliRun, runCli, runCommand } from './run-cli.js';

describe('waymark', { timeout: 120_000 }, () => {
  let stores: TestStores;
  let database: TestDatabase;
  let dataDir: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    dataDir = temporaryDirectory('waymark-cli-');
    stores = await startStores();
    ({ database } = stores);
    env = { ...storeSettings(stores.redis, database), DATA_DIR: dataDir };
  });
  afterAll(async () => {
    await stores.close();
    rmSync(dataDir, { recursive: true });
  });

  const waymark = (...args: string[]): Promise<CliRun> => runCommand(env, ...args);
  async function json<T>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await waymark(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  }

  /** Asks a catalog of its own, so one with empty caches. */
  const authenticate = (token: string) => stores.catalog().keys.authenticate(token);

  interface Created {
    workspace: { id: string; slug: string; plan: string; requestsPerMinute: number };
    domain: { slug: string; primary: boolean } | null;
    apiKey: string;
    publishableKey: string;
  }

  it('creates a workspace with a domain and a working key, which is shown only once', async () => {
    const created = await json<Created>(
      ...['workspace', 'create', '--name', 'Acme Inc', '--slug', 'acme', '--plan', 'pro', '--domain', 'go.acme.com'],
    );
    expect(Object.keys(created)).toEqual(['workspace', 'domain', 'apiKey', 'publishableKey']);
    expect(created.workspace).toMatchObject({ name: 'Acme Inc', slug: 'acme', plan: 'pro', requestsPerMinute: 600 });
    expect(created.domain).toMatchObject({ slug: 'go.acme.com', primary: true });
    expect(created.apiKey).toMatch(/^dub_[0-9A-Za-z]{24}$/);
    expect(created.publishableKey).toMatch(/^dub_pk_[A-Za-z0-9_-]{16,64}$/);
    expect((await authenticate(created.apiKey))?.workspace?.id).toBe(created.workspace.id);

    const everything = [await waymark('workspace', 'list', '--json'), await waymark('key', 'list', '--json')];
    expect(JSON.stringify(everything)).not.toContain(created.apiKey);
  });

  it.each([
    ['without a plan has no quota of events', [], null, null],
    ['with a plan has the quotas of that plan', ['--plan', 'enterprise'], 5_000_000, null],
    ['has the quotas that are named', ['--quotas', 'eventsPerMonth=plan,folders=7'], 5_000_000, 7],
  ])('a workspace that is made %s', async (_what, options, eventsPerMonth, folders) => {
    const slug = `quotas-${randomUUID()}`;
    const { workspace } = await json<Created>('workspace', 'create', '--slug', slug, ...options);
    expect(workspace).toMatchObject({ plan: 'enterprise', quotas: { eventsPerMonth, folders, domains: 250 } });
  });

  it('refuses to make a key that expires on a day that does not exist, or at a time without a zone', async () => {
    await json('workspace', 'create', '--slug', 'expiring');
    const create = (time: string) => waymark('key', 'create', '--workspace', 'expiring', '--expires', time);
    for (const wrong of ['2097-02-30T00:00:00Z', '2097-02-03', '2097-02-03T00:00:00', '1/2/2097', 'in 2097']) {
      const { code, stderr } = await create(wrong);
      expect([code, stderr]).toEqual([1, expect.stringContaining('--expires must be a time with its zone')]);
    }
    const { key } = await json<{ key: { expiresAt: string } }>(
      ...['key', 'create', '--workspace', 'expiring', '--expires', '2097-02-03T01:30:00+01:30'],
    );
    expect(key.expiresAt).toBe('2097-02-03T00:00:00.000Z');
  });

  it('keeps names as typed, also those that look like numbers', async () => {
    const { workspace } = await json<Created>('workspace', 'create', '--slug', '007', '--name=1e3');
    expect(workspace).toMatchObject({ slug: '007', name: '1e3' });
  });

  it('rejects a slug that is taken, and an unknown plan', async () => {
    await json('workspace', 'create', '--slug', 'taken');
    const again = await waymark('workspace', 'create', '--slug', 'taken');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('already in use');
    expect((await waymark('workspace', 'create', '--slug', 'x', '--plan', 'gold')).stderr).toContain(
      '--plan must be one of',
    );
  });

  it('accepts the larger business plans of the public system as business', async () => {
    for (const size of ['plus', 'max', 'extra']) {
      const { workspace } = await json<Created>('workspace', 'create', '--slug', size, '--plan', `business ${size}`);
      expect(workspace).toMatchObject({ plan: 'business', requestsPerMinute: 1200 });
    }
    const unknown = await waymark('workspace', 'create', '--slug', 'huge', '--plan', 'business huge');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('--plan must be one of')]);
  });

  it('stores a domain in lower case and punycode, as the API does, and rejects invalid host names', async () => {
    const { domain } = await json<Created>('workspace', 'create', '--slug', 'idn', '--domain', 'Go.München.de');
    expect(domain).toMatchObject({ slug: 'go.xn--mnchen-3ya.de' });
    for (const wrong of ['http://go.acme.com/', 'a..b', 'go acme.com', 'go.acme.com:port']) {
      const refused = await waymark('workspace', 'create', '--slug', 'none', '--domain', wrong);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain('--domain must be a host name');
    }
  });

  it('sets the site of the partner program, and rejects an invalid URL', async () => {
    const site = ['--program-url', 'https://acme.com'];
    await json('workspace', 'create', '--slug', 'program', ...site);
    await json('workspace', 'update', 'program', '--program-url', 'https://shop.acme.com');
    await json('workspace', 'update', 'program', '--program-url', '');
    const wrong = await waymark('workspace', 'update', 'program', '--program-url', 'nonsense');
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('--program-url must be a URL')]);
  });

  it('sets the domain of the partner program, and rejects one of another workspace, or that is archived', async () => {
    await json('workspace', 'create', '--slug', 'elsewhere', '--domain', 'elsewhere.example');
    const own = ['--domain', 'go.programs.example'];
    const { workspace } = await json<Created>('workspace', 'create', '--slug', 'domains', ...own);
    const set = (host: string) => waymark('workspace', 'update', 'domains', '--program-domain', host);
    const programDomain = async () => {
      const { domains, programs, workspaces } = stores.catalog();
      const { defaultProgramId } = await workspaces.withProgram(workspace.id);
      const { domainId } = await programs.require(workspace.id, defaultProgramId ?? '');
      return domainId && (await domains.get(workspace.id, domainId))?.slug;
    };
    const { domains } = stores.catalog();
    await domains.create(workspace.id, { slug: 'partners.example' });
    await domains.create(workspace.id, { slug: 'archived.example', archived: true });
    for (const [host, message] of [
      ['elsewhere.example', 'the workspace "domains" has no domain "elsewhere.example"'],
      ['nowhere.example', 'has no domain "nowhere.example"'],
      ['archived.example', 'is archived'],
      ['a..b', '--program-domain must be a host name'],
      ['www.partners.example', '--program-domain must not begin with "www."'],
    ] as const) {
      const refused = await set(host);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    expect(await programDomain()).toBe('go.programs.example');
    expect(await set('Partners.Example')).toMatchObject({ code: 0 });
    expect(await programDomain()).toBe('partners.example');
    expect(await set('')).toMatchObject({ code: 0 });
    expect(await programDomain()).toBeNull();
  });

  it('sets the folder of the partner program, and rejects an unknown one', async () => {
    const { workspace } = await json<Created>('workspace', 'create', '--slug', 'folders', '--plan', 'pro');
    const programFolder = async () => {
      const { programs, workspaces } = stores.catalog();
      const { defaultProgramId } = await workspaces.withProgram(workspace.id);
      return (await programs.require(workspace.id, defaultProgramId ?? '')).defaultFolderId;
    };
    const { id } = await stores.catalog().folders.create(workspace.id, { name: 'Partners' });
    await json('workspace', 'update', 'folders', '--program-folder', id);
    expect(await programFolder()).toBe(id);
    const unknown = await waymark('workspace', 'update', 'folders', '--program-folder', 'fold_00000000000');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('Folder not found')]);
    expect(await programFolder()).toBe(id);
    await json('workspace', 'update', 'folders', '--program-folder', '');
    expect(await programFolder()).toBeNull();
  });

  it('changes plan, hostnames, limits and quotas, and resets them to those of the plan', async () => {
    const { workspace } = await json<Created>('workspace', 'create', '--slug', 'limits', '--plan', 'free');
    const changed = await json<{ workspace: Record<string, unknown> }>(
      ...['workspace', 'update', 'limits', '--plan', 'business', '--allowed-hostnames', 'acme.com,*.acme.com'],
      ...['--requests-per-minute', '7', '--analytics-per-second', '9', '--quotas', 'linksPerMonth=5,domains=unlimited'],
    );
    expect(changed.workspace).toMatchObject({
      id: workspace.id,
      plan: 'business',
      allowedHostnames: ['acme.com', '*.acme.com'],
      requestsPerMinute: 7,
      analyticsPerSecond: 9,
      quotas: { linksPerMonth: 5, domains: null, folders: 20 },
    });
    const reset = await json<{ workspace: Record<string, unknown> }>(
      ...['workspace', 'update', '--workspace', workspace.id, '--requests-per-minute', 'plan'],
      ...['--allowed-hostnames', '', '--quotas', 'linksPerMonth=plan'],
    );
    expect(reset.workspace).toMatchObject({
      allowedHostnames: [],
      requestsPerMinute: 1200,
      quotas: { linksPerMonth: 10_000, domains: null },
    });
  });

  it('keeps the quotas of commands that run at once', async () => {
    await json('workspace', 'create', '--slug', 'quotas', '--plan', 'free');
    const quotas = ['linksPerMonth=5', 'domains=6', 'tags=7', 'folders=8'];
    const update = (quota: string) => runCli(env, 'workspace', 'update', 'quotas', '--quotas', quota);
    const runs = await Promise.all(quotas.map(update));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const { workspace } = await json<{ workspace: unknown }>('workspace', 'update', 'quotas', '--name', 'Quotas');
    expect(workspace).toMatchObject({ quotas: { linksPerMonth: 5, domains: 6, tags: 7, folders: 8 } });
  });

  it('rejects limits that are no whole numbers or too small, and keeps the workspace as it was', async () => {
    await json('workspace', 'create', '--slug', 'bounds', '--plan', 'pro');
    const refusalOf = async (option: string) => {
      const { code, stderr } = await waymark('workspace', 'update', 'bounds', option);
      return [code, stderr];
    };
    const mustBe = (least: number) => [1, expect.stringContaining(`must be a whole number from ${least}`)];
    expect(await refusalOf('--requests-per-minute=0')).toEqual(mustBe(1));
    expect(await refusalOf('--requests-per-minute=1.5')).toEqual(mustBe(1));
    expect(await refusalOf('--analytics-per-second=-1')).toEqual(mustBe(0));
    const { workspace } = await json<{ workspace: unknown }>('workspace', 'update', 'bounds', '--name', 'Bounds');
    expect(workspace).toMatchObject({ requestsPerMinute: 600, analyticsPerSecond: 2 });
  });

  it('sets how long a workspace keeps data, never longer than the installation, and deletes what has expired', async () => {
    type Updated = { workspace: Record<string, unknown> };
    const { workspace } = await json<Created>('workspace', 'create', '--slug', 'short-memory');
    const refusalOf = async (option: string) => {
      const { code, stderr } = await waymark('workspace', 'update', 'short-memory', option);
      return [code, stderr];
    };
    const mustBe = (range: string) => [1, expect.stringContaining(`must be a whole number ${range}`)];
    expect(await refusalOf('--event-retention-days=30')).toEqual(mustBe('from 31 to 36500'));
    expect(await refusalOf('--address-retention-days=1.5')).toEqual(mustBe('from 1 to 36500'));
    const unlimited = env;
    env = { ...env, EVENT_RETENTION_DAYS: '100', ADDRESS_RETENTION_DAYS: '30' };
    expect(await refusalOf('--event-retention-days=101')).toEqual(mustBe('from 31 to 100'));
    expect(await refusalOf('--address-retention-days=31')).toEqual(mustBe('from 1 to 30'));
    env = unlimited;
    const set = ['workspace', 'update', 'short-memory', '--event-retention-days'];
    const { workspace: updated } = await json<Updated>(...set, '40', '--address-retention-days', '7');
    expect(updated).toMatchObject({ eventRetentionDays: 40, addressRetentionDays: 7 });

    const workspaceId = parseResourceId('workspace', workspace.id) ?? '';
    const click = (days: number) =>
      aClick({ workspaceId, timestampMs: Date.now() - days * 86_400_000, ip: '198.51.100.7' });
    await insertClicks(database.client, [click(1), click(10), click(60)]);
    const found = { workspace: workspace.id, table: 'click_events', rows: 1, addresses: 1 };
    type Report = { counts: object[]; changed: string[] };
    const dry = await json<Report>('retention', '--dry-run');
    expect(dry.counts).toContainEqual(found);
    expect(dry.changed).toEqual([]);
    const applied = await json<Report>('retention');
    expect(applied.counts).toEqual(dry.counts);
    expect(applied.changed).toEqual(['click_events', 'workspace_slots', 'link_days']);
    await waitFor(async () => (await json<Report>('retention', '--dry-run')).counts.length === 0, { what: 'deletion' });
    expect((await waymark('retention')).stdout).toContain('nothing has expired');

    const { workspace: reset } = await json<Updated>(...set, 'installation', '--privacy-signal', 'no-id');
    expect(reset).toMatchObject({ eventRetentionDays: null, addressRetentionDays: 7, privacySignal: 'no-id' });
    expect(await refusalOf('--privacy-signal=yes')).toEqual([
      1,
      expect.stringContaining('must be one of ignore, no-id, no-track'),
    ]);
  });

  it('creates a key with scopes, and a revoked key stops working', async () => {
    await json('workspace', 'create', '--slug', 'keys');
    const { key, apiKey } = await json<{ key: { id: string; scopes: string[] }; apiKey: string }>(
      ...['key', 'create', '--workspace', 'keys', '--scopes', 'links.read,analytics.read'],
    );
    expect(key.scopes).toEqual(['links.read', 'analytics.read']);
    expect((await authenticate(apiKey))?.key.id).toBe(key.id);
    expect(await json('key', 'revoke', key.id)).toMatchObject({ id: key.id, revoked: true });
    expect(await authenticate(apiKey)).toBeUndefined();
    expect((await waymark('key', 'revoke', key.id)).code).toBe(1);
    expect((await waymark('key', 'create', '--workspace', 'keys', '--scopes', 'everything')).stderr).toContain(
      'is not a scope',
    );
  });

  it.each([
    ['scopes', ''],
    ['scopes', ','],
    ['quotas', ''],
    ['allowed-hostnames', ','],
  ])('refuses --%s with %j: an empty list would be all, as of an empty variable of a script', async (option, value) => {
    await json('workspace', 'create', '--slug', 'empty').catch(() => undefined);
    const keys = async () => (await json<{ keys: unknown[] }>('key', 'list', '--workspace', 'empty')).keys.length;
    const before = await keys();
    const command = option === 'scopes' ? ['key', 'create', '--workspace'] : ['workspace', 'update'];
    const { code, stderr } = await waymark(...command, 'empty', `--${option}`, value);
    expect([code, stderr]).toEqual([1, `waymark: --${option} needs a value\n`]);
    expect(await keys()).toBe(before);
  });

  it('says which scopes a new key has', async () => {
    await json('workspace', 'create', '--slug', 'scopes');
    const create = async (...args: string[]) =>
      (await waymark('key', 'create', '--workspace', 'scopes', ...args)).stdout;
    expect(await create()).toContain('scopes   all\n');
    expect(await create('--scopes', 'analytics.read')).toContain('scopes   analytics.read\n');
    expect(await create('--publishable')).not.toContain('scopes');
  });

  it('creates a publishable key, so that an abused one can be replaced and revoked', async () => {
    const created = await json<Created>('workspace', 'create', '--slug', 'pages');
    const { apiKey } = await json<{ apiKey: string }>('key', 'create', '--workspace', 'pages', '--publishable');
    expect(apiKey).toMatch(/^dub_pk_/);
    expect((await authenticate(apiKey))?.key).toMatchObject({ kind: 'publishable', workspaceId: created.workspace.id });
    await json('key', 'revoke', created.publishableKey);
    expect(await authenticate(created.publishableKey)).toBeUndefined();
    const scoped = await waymark('key', 'create', '--workspace', 'pages', '--publishable', '--scopes', 'links.read');
    expect([scoped.code, scoped.stderr]).toEqual([1, expect.stringContaining('a publishable key cannot have scopes')]);
  });

  it('applies all migrations to an empty database once', async () => {
    const fresh = { ...env, CLICKHOUSE_DATABASE: `${database.database}_fresh` };
    const hurried = await runCommand(fresh, 'migrate', 'wait', '--seconds', '0.1');
    const waiting = runCli(fresh, 'migrate', 'wait', '--seconds', '60', '--json');
    const first = await runCommand(fresh, 'migrate', 'up', '--json');
    const second = await runCommand(fresh, 'migrate', 'up', '--json');
    const status = await runCommand(fresh, 'migrate', 'status', '--json');
    const waited = await waiting;
    const { name: applied } = (JSON.parse(status.stdout) as { migrations: { name: string }[] }).migrations[0] ?? {};
    await database.client.command({
      query: `INSERT INTO ${fresh.CLICKHOUSE_DATABASE}.schema_migrations
SELECT * REPLACE ('other' AS checksum, applied_at + 1 AS applied_at) FROM ${fresh.CLICKHOUSE_DATABASE}.schema_migrations
WHERE name = {applied:String}`,
      query_params: { applied },
    });
    const changed = await runCommand(fresh, 'migrate', 'wait', '--seconds', '60');
    const refused = await runCommand(fresh, 'migrate', 'up');
    await database.client.command({ query: `DROP DATABASE ${fresh.CLICKHOUSE_DATABASE}` });
    expect(hurried).toMatchObject({ code: 1, stderr: expect.stringContaining('migrations are not applied') });
    expect(JSON.parse(waited.stdout)).toEqual({ migrated: true });
    expect(changed).toMatchObject({ code: 0, stderr: expect.stringContaining('1 migrations have changed since') });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('has changed since it was applied') });
    expect((JSON.parse(first.stdout) as { applied: string[] }).applied.length).toBeGreaterThan(0);
    expect((JSON.parse(second.stdout) as { applied: string[] }).applied).toEqual([]);
    const { migrations } = JSON.parse(status.stdout) as { migrations: { state: string }[] };
    expect(new Set(migrations.map(({ state }) => state))).toEqual(new Set(['applied']));
  });

  it('migrate wait ends when ClickHouse is away for as long as allowed, and waits while it answers with an older schema', async () => {
    const wait = ['migrate', 'wait', '--seconds', '1.5', '--unreachable-seconds', '1'];
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const away = await runCommand({ ...env, CLICKHOUSE_URL: nowhere }, ...wait, '--json');
    const empty = await runCommand({ ...env, CLICKHOUSE_DATABASE: `${database.database}_absent` }, ...wait);
    expect([away.code, JSON.parse(away.stdout)]).toEqual([0, { migrated: false }]);
    expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining('migrations are not applied') });
  });

  it('status asks the API that --api names', async () => {
    const api = createServer((request, response) => response.writeHead(request.url === '/readyz' ? 200 : 404).end());
    await once(api.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    try {
      expect(await json('status', '--api', `${url}/`)).toMatchObject({ api: { ok: true, url } });
    } finally {
      api.close();
    }
    const { stdout } = await waymark('status', '--api', url);
    expect(stdout).toMatch(new RegExp(`^api +failed: ${url} does not answer$`, 'm'));
  });

  it('status does not fail for migrations of a newer release, and warns of what needs attention though all answers', async () => {
    const query = "INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'of a newer release', 'x')";
    await database.client.command({ query });
    const { client } = stores;
    await client.lpush('{waymark}:dead-letter:wait', 'one');
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const { stdout } = await waymark('status');
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await client.del('{waymark}:dead-letter:wait');
    expect(stdout).toMatch(/^clickhouse +\d+ migrations applied, and 1 of a newer release$/m);
    expect(stdout).toMatch(/^api +failed: http:\/\/127.0.0.1:3000 does not answer \(this is BASE_URL: with --api, /m);
    expect(stdout).toMatch(/^warning +REDIS_URL: maxmemory-policy is allkeys-lru, not noeviction/m);
    expect(stdout).toMatch(/^warning +1 events could not be stored; see: waymark dead-letters list$/m);
  });

  it('fails with instructions when no stack is running or a command is wrong', async () => {
    const { code, stderr } = await runCommand({ DATA_DIR: dataDir, REDIS_URL: '' }, 'workspace', 'list');
    expect(code).toBe(1);
    expect(stderr).toContain('npm run up');
    expect(await waymark('workspace', 'destroy')).toMatchObject({ code: 1 });
    expect((await waymark('workspace', 'create', '--slug', 'a', '--colour', 'red')).stderr).toContain('Unknown option');
    const asJson = await runCommand(env, 'workspace', 'update', 'nobody', '--plan', 'pro', '--json');
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.stderr)).toEqual({ error: { message: expect.stringContaining('no workspace "nobody"') } });
  });
});
