import { rmSync } from 'node:fs';
import type { Link } from '@waymark/contract';
import {
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../services/cli/test/run-cli.js';
import { BROWSER } from '../../services/ingest/test/test-ingest.js';
import { type ServiceProcess, startServiceProcess } from './service-process.js';

/** The drill of docs/runbooks/rotating-keys.md for several servers: its steps in its order, with two processes that are restarted in turn. */

const [OLD, NEW] = ['a1', 'b2'].map((pair) => pair.repeat(32)) as [string, string];
const [OLD_ADMIN, NEW_ADMIN] = ['old-admin-key', 'new-admin-key'].map((text) => text.repeat(3)) as [string, string];
const DOMAIN = 'go.acme.example';
const PASSWORD = 'open sesame';

/** A link with a password and a webhook, created through one of the processes. */
interface Belongings {
  readonly linkId: string;
  readonly key: string;
  /** That of a visitor who typed the password. */
  readonly cookie: string;
  readonly webhookId: string;
  readonly secret: string;
}

describe('rotating the keys of servers', { timeout: 120_000 }, () => {
  let redis: TestRedis;
  let database: TestDatabase;
  let dataDir: string;
  let token: string;
  let otherToken: string;
  const processes: ServiceProcess[] = [];
  const belongings: Belongings[] = [];
  const logs: string[] = [];
  const clickIds = new Set<string>();

  const environment = (keys: Readonly<Record<string, string>>) => ({
    DATA_DIR: dataDir,
    REDIS_URL: redis.url,
    CLICKHOUSE_URL: database.url,
    CLICKHOUSE_DATABASE: database.database,
    ...keys,
  });
  const waymark = (keys: Readonly<Record<string, string>>, ...args: string[]) => runCommand(environment(keys), ...args);

  async function call<Body>(
    process: ServiceProcess,
    method: 'GET' | 'POST' | 'PATCH',
    url: string,
    body?: object,
    by = token,
  ) {
    const headers = { authorization: `Bearer ${by}` };
    const response = await process.api.inject({ method, url, headers, ...(body && { payload: body }) });
    return { status: response.statusCode, body: response.json<Body>() };
  }
  const adminStatus = async (process: ServiceProcess, key: string) =>
    (await process.api.inject({ url: '/metrics', headers: { authorization: `Bearer ${key}` } })).statusCode;
  const visit = (process: ServiceProcess, key: string, headers: Record<string, string> = {}) =>
    process.links.inject({ url: `/${key}`, headers: { host: DOMAIN, ...headers } });

  /** Makes a link with a password and a webhook through a process, and types the password there. */
  async function make(process: ServiceProcess): Promise<void> {
    const key = `link-${belongings.length}`;
    const link = await call<Link>(process, 'POST', '/links', {
      ...{ url: 'https://acme.example/', domain: DOMAIN, key, password: PASSWORD },
    });
    const webhook = await call<{ id: string; secret: string }>(process, 'POST', '/webhooks', {
      ...{ name: 'Hook', url: `https://hooks.example/${key}`, triggers: ['link.created'] },
    });
    expect([link.status, webhook.status]).toEqual([200, 201]);
    const unlocked = await process.links.inject({
      method: 'POST',
      url: `/${key}`,
      headers: { host: DOMAIN, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ password: PASSWORD }).toString(),
    });
    expect(unlocked.statusCode).toBe(303);
    const cookie = String([unlocked.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
    belongings.push({
      ...{ linkId: link.body.id, key, cookie },
      ...{ webhookId: webhook.body.id, secret: webhook.body.secret },
    });
  }

  /** Every process opens what any process has ever sealed, and refuses what it should. */
  async function expectAllOpen(): Promise<void> {
    for (const process of processes) await make(process);
    for (const process of processes) {
      for (const { linkId, key, webhookId, secret } of belongings) {
        expect((await call<Link>(process, 'GET', `/links/${linkId}`)).body.password).toBe(PASSWORD);
        expect((await call<{ secret: string }>(process, 'GET', `/webhooks/${webhookId}`)).body.secret).toBe(secret);
        expect((await visit(process, key)).statusCode).toBe(401);
        expect((await visit(process, `${key}?pw=${encodeURIComponent(PASSWORD)}`)).statusCode).toBe(302);
      }
    }
  }
  async function expectCookiesOpen(): Promise<void> {
    for (const process of processes) {
      for (const { key, cookie } of belongings) expect((await visit(process, key, { cookie })).statusCode).toBe(302);
    }
  }
  /** A visit of the same visitor within the hour is the same click, whichever process counts it. */
  async function expectSameClick(): Promise<void> {
    for (const process of processes) {
      const { headers } = await visit(process, 'tracked', { 'user-agent': BROWSER });
      const clickId = new URL(String(headers.location)).searchParams.get('dub_id') ?? '';
      expect(clickId).not.toBe('');
      clickIds.add(clickId);
    }
    expect(clickIds.size).toBe(1);
  }
  const expectAdmin = async (key: string, status: number) => {
    for (const process of processes) expect(await adminStatus(process, key)).toBe(status);
  };

  /** Replaces the processes one after the other, and checks after each. */
  async function restartInTurn(keys: Readonly<Record<string, string>>, check: () => Promise<void>): Promise<void> {
    for (const [index, process] of processes.entries()) {
      await process.close();
      logs.push(process.logs());
      processes[index] = await startServiceProcess(`process-${index + 1}`, environment(keys));
      await check();
    }
  }

  beforeAll(async () => {
    dataDir = temporaryDirectory('waymark-keys-');
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    const keys = { INSTANCE_KEY: OLD, ADMIN_KEY: OLD_ADMIN };
    const create = async (slug: string, ...more: string[]) => {
      const { stdout } = await waymark(keys, 'workspace', 'create', '--slug', slug, ...more, '--json');
      return (JSON.parse(stdout) as { apiKey: string }).apiKey;
    };
    token = await create('acme', '--domain', DOMAIN);
    otherToken = await create('other');
    for (const name of ['process-1', 'process-2']) processes.push(await startServiceProcess(name, environment(keys)));
    await expectAllOpen();
    await expectCookiesOpen();
    const [first] = processes;
    if (first === undefined) throw new Error('no process');
    const tracked = { url: 'https://acme.example/', domain: DOMAIN, key: 'tracked', trackConversion: true };
    expect((await call(first, 'POST', '/links', tracked)).status).toBe(200);
    await expectSameClick();
  });
  afterAll(async () => {
    await Promise.all(processes.map((process) => process.close()));
    await Promise.all([redis.stop(), database.drop()]);
    rmSync(dataDir, { recursive: true });
  });

  it('step 2: the next instance key is accepted by one process after the other', async () => {
    const keys = { INSTANCE_KEY: OLD, INSTANCE_KEY_NEXT: NEW, ADMIN_KEY: OLD_ADMIN };
    await restartInTurn(keys, async () => {
      await expectAllOpen();
      await expectCookiesOpen();
      await expectSameClick();
      await expectAdmin(OLD_ADMIN, 200);
    });
  });

  it('step 3: both new keys become current while the old ones are accepted, one process after the other', async () => {
    const keys = {
      ...{ INSTANCE_KEY: NEW, INSTANCE_KEY_PREVIOUS: OLD },
      ...{ ADMIN_KEY: NEW_ADMIN, ADMIN_KEY_PREVIOUS: OLD_ADMIN },
    };
    /** The processes that reseal still warns of, as they are to be after each restart. */
    const late = [/^process-2 \S+$/, /^$/];
    await restartInTurn(keys, async () => {
      await expectAllOpen();
      await expectCookiesOpen();
      await expectSameClick();
      await expectAdmin(OLD_ADMIN, 200);
      const expected = late.shift() ?? /never/;
      await waitFor(
        async () => {
          const { stdout } = await waymark(keys, 'instance-key', 'reseal', '--check', '--json');
          const { processesWithOtherKey } = JSON.parse(stdout) as { processesWithOtherKey: string[] };
          return expected.test(processesWithOtherKey.join());
        },
        { what: `reseal to warn of ${expected}` },
      );
    });
    await expectAdmin(NEW_ADMIN, 200);
  });

  it('before step 4 the keys can be exchanged, one process after the other, and exchanged again', async () => {
    for (const [[key, previous], [adminKey, previousAdminKey]] of [
      [
        [OLD, NEW],
        [OLD_ADMIN, NEW_ADMIN],
      ],
      [
        [NEW, OLD],
        [NEW_ADMIN, OLD_ADMIN],
      ],
    ] as const) {
      const keys = { INSTANCE_KEY: key, INSTANCE_KEY_PREVIOUS: previous };
      await restartInTurn({ ...keys, ADMIN_KEY: adminKey, ADMIN_KEY_PREVIOUS: previousAdminKey }, async () => {
        await expectAllOpen();
        await expectCookiesOpen();
        for (const accepted of [OLD_ADMIN, NEW_ADMIN]) await expectAdmin(accepted, 200);
      });
    }
  });

  it('step 4: reseal seals everything with the new key while both processes run', async () => {
    const keys = { INSTANCE_KEY: NEW, INSTANCE_KEY_PREVIOUS: OLD };
    const { code, stdout } = await waymark(keys, 'instance-key', 'reseal');
    expect(stdout).toContain('INSTANCE_KEY_PREVIOUS can be removed');
    expect(code).toBe(0);
    await expectAllOpen();
    await expectCookiesOpen();
  });

  it('step 5: without the old keys everything opens, and the old admin key is refused', async () => {
    await restartInTurn({ INSTANCE_KEY: NEW, ADMIN_KEY: NEW_ADMIN }, async () => {
      await expectAllOpen();
      await expectAdmin(NEW_ADMIN, 200);
    });
    await expectAdmin(OLD_ADMIN, 401);
    const { code } = await waymark({ INSTANCE_KEY: NEW }, 'instance-key', 'reseal', '--check');
    expect(code).toBe(0);
  });

  it('keys of workspaces open neither the operators’ pages nor what belongs to another workspace', async () => {
    await expectAdmin(token, 401);
    for (const process of processes) {
      for (const { linkId, webhookId, secret } of belongings) {
        const answers = [
          await call(process, 'GET', `/links/${linkId}`, undefined, otherToken),
          await call(process, 'GET', `/webhooks/${webhookId}`, undefined, otherToken),
        ];
        expect(answers.map(({ status }) => status)).toEqual([404, 404]);
        expect(JSON.stringify(answers)).not.toContain(secret);
      }
    }
  });

  it('a process without the key of a value answers 500 for it, logs why, goes on serving, and accepts a new password', async () => {
    const process = await startServiceProcess('process-3', environment({ INSTANCE_KEY: OLD, ADMIN_KEY: OLD_ADMIN }));
    try {
      const [{ linkId, key, webhookId } = { linkId: '', key: '', webhookId: '' }] = belongings;
      expect((await call(process, 'GET', `/links/${linkId}`)).status).toBe(500);
      expect((await call(process, 'GET', `/webhooks/${webhookId}`)).status).toBe(500);
      expect((await visit(process, `${key}?pw=x`)).statusCode).toBeGreaterThanOrEqual(500);
      expect((await call(process, 'GET', '/tags')).status).toBe(200);
      const changed = await call<Link>(process, 'PATCH', `/links/${linkId}`, { password: 'new' });
      expect([changed.status, changed.body.password]).toEqual([200, 'new']);
      expect(process.logs()).toContain(`the secret of ${linkId} was encrypted with another key than INSTANCE_KEY`);
    } finally {
      await process.close();
      logs.push(process.logs());
    }
  });

  it('no log has a key, a password or a secret', () => {
    const all = [...logs, ...processes.map((process) => process.logs())].join('\n');
    expect(all).toContain('"level"');
    const secrets = [OLD, NEW, OLD_ADMIN, NEW_ADMIN, PASSWORD, token, ...belongings.map(({ secret }) => secret)];
    for (const secret of secrets) expect(all).not.toContain(secret);
  });
});
