import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunState } from '@waymark/config';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stablePort } from '../stable-port.js';
import { migratedDataDir, pidOf, removeUp, runUp, UP_MS_MAX, type Up } from './run-up.js';

/** The metrics of a whole stack while parts of it are killed, and its logs. */

const ADMIN_KEY = `hunter-admin-${'k'.repeat(32)}`;
const INSTANCE_KEY = '5ec2e7'.repeat(11).slice(0, 64);
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const ADDRESSES = ['203.0.113.77', '2001:db8:aa:bb:cc:dd:ee:77'];
const NOTICED_MS = 15_000;
const SCRAPE_MS_MAX = 1000;
/** On a busy machine some scrapes take longer; if scrapes are slow, all of them do. */
const SCRAPES_MAX = 5;

let up: Up;
let state: RunState;
let apiKey: string;
let writerUrl: string;

beforeAll(async () => {
  const dataDir = await migratedDataDir();
  const writerPort = await stablePort(`operations ${dataDir}`);
  writerUrl = `http://127.0.0.1:${writerPort}`;
  up = runUp(dataDir, { LOG_LEVEL: 'debug', ADMIN_KEY, INSTANCE_KEY, WRITER_PORT: String(writerPort) });
  state = await up.ready();
  await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line' });
  apiKey = up.firstKey();
}, UP_MS_MAX);
afterAll(async () => {
  await up.stop();
  await removeUp(up);
});

const authorized = { 'content-type': 'application/json' };

function api(path: string, body?: object, key = apiKey): Promise<Response> {
  const headers = { ...authorized, authorization: `Bearer ${key}` };
  return fetch(
    `${state.api}${path}`,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  );
}

/** A visit from `address`. @returns the click's id, `''` when there is none */
async function visit(path: string, address = ADDRESSES[0] ?? '', init: RequestInit = {}): Promise<string> {
  const { port } = new URL(state.links);
  const headers = { 'user-agent': BROWSER, 'x-forwarded-for': address, ...init.headers };
  const answer = await fetch(`http://localhost:${port}${path}`, { ...init, headers, redirect: 'manual' });
  return /dub_id=([\w-]+)/.exec(answer.headers.get('location') ?? '')?.[1] ?? '';
}

async function scrape(base: string): Promise<string> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  for (let number = 1; ; number++) {
    try {
      const answer = await fetch(`${base}/metrics`, { headers, signal: AbortSignal.timeout(SCRAPE_MS_MAX) });
      return await answer.text();
    } catch (err) {
      if (number === SCRAPES_MAX) throw err;
    }
  }
}

/** A value of `/metrics`; undefined if it is missing. Fails when no scrape of a few takes less than a second. */
async function metric(line: string, base = state.api): Promise<number | undefined> {
  const found = (await scrape(base)).split('\n').find((text) => text.startsWith(line));
  return found === undefined ? undefined : Number(found.slice(found.lastIndexOf(' ') + 1));
}

const component = (name: string, of: string) => metric(`waymark_component_${of}{component="${name}"`);

describe('metrics of a running stack', () => {
  it('show every component as up', async () => {
    for (const name of ['redis', 'clickhouse', 'http', 'writer']) {
      await waitFor(async () => (await component(name, 'up')) === 1, { what: `${name} to be up` });
      expect(await component(name, 'starts_total')).toBe(1);
    }
  });

  it('count redirects by status, and the batches and rows that the writer has stored', async () => {
    await api('/links', { url: 'https://example.com/', key: 'plain', trackConversion: true });
    expect(await visit('/plain')).not.toBe('');
    await visit('/nothing-here');
    const redirects = (status: number) =>
      metric(`waymark_http_request_duration_seconds_count{method="GET",route="/:key",status="${status}"`);
    expect(await redirects(302)).toBe(1);
    expect(await redirects(404)).toBe(1);
    await waitFor(
      async () => (await metric('waymark_writer_batches_total{kind="click",outcome="stored"', writerUrl)) === 1,
      { what: 'the writer to count its batch' },
    );
    expect(await metric('waymark_writer_batch_rows_sum{kind="click"', writerUrl)).toBe(1);
  });

  it('show within 15 s that the writer was killed, even if it runs again by then', async () => {
    expect(await component('writer', 'kills_total')).toBe(0);
    process.kill(pidOf(state.pids.writer), 'SIGKILL');
    await waitFor(async () => (await component('writer', 'kills_total')) === 1, {
      what: 'the kill of the writer',
      timeoutMs: NOTICED_MS,
    });
    expect(await component('http', 'kills_total')).toBe(0);
    await waitFor(async () => (await component('writer', 'starts_total')) === 2, { what: 'its second start' });
    expect(await component('writer', 'up')).toBe(1);
  });

  it('show within 15 s that ClickHouse does not respond, in scrapes of less than a second', async () => {
    const pid = pidOf(state.pids.clickhouse);
    process.kill(pid, 'SIGSTOP');
    try {
      await waitFor(async () => (await component('clickhouse', 'up')) === 0, {
        what: 'ClickHouse to be down',
        timeoutMs: NOTICED_MS,
      });
      expect(await component('redis', 'up')).toBe(1);
      expect(await visit('/plain')).not.toBe('');
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await waitFor(async () => (await component('clickhouse', 'up')) === 1, { what: 'ClickHouse to be up' });
  });

  it.each(['clickhouse', 'redis'] as const)('show within 15 s that %s was killed with -9', async (name) => {
    const isRestarted = async () => Number(await component(name, 'starts_total')) >= 2;
    process.kill(pidOf(state.pids[name]), 'SIGKILL');
    await waitFor(async () => (await component(name, 'up')) === 0 || (await isRestarted()), {
      what: `the kill of ${name}`,
      timeoutMs: NOTICED_MS,
    });
    await waitFor(isRestarted, { what: `the restart of ${name}` });
    await waitFor(async () => (await fetch(`${state.api}/readyz`)).ok, {
      what: 'the API to be ready',
    });
  });
});

/** Lines of our own processes, all of them JSON. */
function logLines(): { readonly text: string; readonly lines: readonly Record<string, unknown>[] } {
  const directory = join(up.dataDir, 'logs');
  const texts = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  const text = texts.join('\n');
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return { text, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('logs of a running stack at the lowest level', () => {
  const PASSWORD = 'hunter-password';
  const secrets = () => [
    apiKey,
    ADMIN_KEY,
    INSTANCE_KEY,
    // Each process logs its settings at start-up, which include the URLs of the stores.
    ...[state.redis, state.clickhouse].map((url) => new URL(url).password),
    PASSWORD,
    'hunter-wrong-password',
    'hunter-cookie',
    'dub_hunterhunterhunterhunter',
    'hunter@example.com',
    ...ADDRESSES,
  ];

  it('contain no keys, passwords or addresses of visitors, whatever is requested and whatever fails', async () => {
    const created = await api('/links', { url: 'https://example.com/', key: 'locked', password: PASSWORD });
    expect(created.status).toBe(200);
    const hook = await api('/webhooks', {
      name: 'a',
      url: 'https://receiver.invalid/x',
      secret: 'whsec_hunterhunterhunter',
      triggers: ['link.clicked', 'lead.created'],
      linkScope: 'workspace',
    });
    const made = (await hook.json()) as { secret?: string };
    expect(hook.status, JSON.stringify(made)).toBeLessThan(300);
    const secretOfHook = made.secret ?? '';
    expect(secretOfHook).not.toBe('');

    /** @returns the statuses of the leads, whose e-mail addresses no log may contain */
    const traffic = async () => {
      const statuses: number[] = [];
      for (const [index, address] of ADDRESSES.entries()) {
        const clickId = await visit('/plain', address);
        await visit(`/locked?pw=${PASSWORD}`, address);
        await visit('/locked', address, {
          method: 'POST',
          body: new URLSearchParams({ password: 'hunter-wrong-password' }),
        });
        await visit('/plain?email=hunter@example.com', address, { headers: { cookie: 'dub_id=hunter-cookie' } });
        const customer = { customerExternalId: `c-${index}`, customerEmail: 'hunter@example.com' };
        statuses.push((await api('/track/lead', { clickId, eventName: 'Sign up', ...customer })).status);
        await api('/track/sale', { ...customer, amount: 100, invoiceId: String(Math.random()) });
      }
      await api('/links', { url: 1, password: PASSWORD, key: { hunter: PASSWORD } });
      await api(`/events?event=clicks&query=${encodeURIComponent("metadata['hunter@example.com']:x")}`);
      await api('/events?event=leads');
      await api('/links', undefined, 'dub_hunterhunterhunterhunter');
      for (const key of [ADMIN_KEY, 'hunter-wrong-password']) {
        const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': ADDRESSES[0] ?? '' };
        await fetch(`${state.api}/metrics`, { headers });
      }
      return statuses;
    };
    expect(await traffic()).toEqual([200, 200]);
    state = up.state() ?? state;
    // Errors are logged with more details than requests.
    for (const name of ['clickhouse', 'redis'] as const) {
      const pid = pidOf(state.pids[name]);
      process.kill(pid, 'SIGSTOP');
      const underWay = traffic().catch(() => undefined);
      await waitFor(async () => (await component(name, 'up')) === 0, {
        what: `${name} to be away`,
        timeoutMs: NOTICED_MS,
      });
      process.kill(pid, 'SIGCONT');
      await underWay;
      process.kill(pid, 'SIGKILL');
      await traffic().catch(() => undefined);
      await waitFor(async () => (await fetch(`${state.api}/readyz`)).ok, {
        what: 'the API to be ready',
      });
      state = up.state() ?? state;
    }
    await traffic();

    const { text, lines } = logLines();
    expect(lines.length).toBeGreaterThan(100);
    expect(text).toContain('"ip":"203.0.113.0"');
    const names = new Set(lines.map(({ name }) => name));
    expect(names).toEqual(new Set(['http', 'writer', 'webhooks', 'supervisor']));
    for (const secret of [...secrets(), secretOfHook]) {
      const found = text.split('\n').filter((line) => line.includes(secret));
      expect(found.slice(0, 3), secret).toEqual([]);
    }
  }, 120_000);

  it('have the request id and the workspace in every line about a request', async () => {
    const requests = logLines().lines.filter(({ msg }) => /^(request|response) /.test(String(msg)));
    expect(requests.length).toBeGreaterThan(30);
    expect(requests.filter(({ requestId }) => typeof requestId !== 'string')).toEqual([]);
    const paths = (request: Record<string, unknown>) => String((request.req as { path?: string } | undefined)?.path);
    const withKey = requests.filter((request) => (request.res as { status?: number } | undefined)?.status === 200);
    const ofWorkspaces = withKey.filter((request) => /^\/(links|events|track)/.test(paths(request)));
    expect(ofWorkspaces.length).toBeGreaterThan(10);
    expect(ofWorkspaces.filter(({ workspaceId }) => !/^ws_/.test(String(workspaceId)))).toEqual([]);
  });
});
