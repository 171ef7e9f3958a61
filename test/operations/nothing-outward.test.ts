import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createCatalog } from '@waymark/catalog';
import type { ImportJob, Link } from '@waymark/contract';
import {
  createTestDatabase,
  type ForkedService,
  forkService,
  startRedis,
  storeSettings,
  TEST_INSTANCE_KEY,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../services/cli/test/run-cli.js';
import { stablePort } from '../../services/standalone/test/stable-port.js';

/**
 * The promise of docs/runbooks/restoring.md for drills: with OUTBOUND_ALLOWED_RANGES=none, processes connect to their stores only. Every
 * process notes the hosts to which it connects, whichever client does it, and reaches those of this machine only.
 */

const noteConnections = (file: string) => `
import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const [options] = args.flat();
  const host = options.path ?? options.host ?? 'localhost';
  const program = process.argv[1].replace(/^.*\\/(services\\/)/, '$1');
  appendFileSync(${JSON.stringify(file)}, JSON.stringify({ program, host }) + '\\n');
  if (host === '127.0.0.1') return connect.apply(this, args);
  setImmediate(() => this.destroy(new Error('no connection leaves this machine')));
  return this;
};`;
/** An address that is allowed by default. */
const OUTSIDE = 'http://8.8.8.8';
const DOMAIN = 'go.acme.example';
const PROGRAMS = {
  http: 'services/standalone/dist/http.js',
  management: 'services/management/dist/main.js',
  query: 'services/query/dist/main.js',
  writer: 'services/writer/dist/main.js',
};
const DELIVERIES = 'services/writer/dist/delivery-main.js';
const COMMAND_LINE = 'services/cli/bin/waymark.mjs';

interface Connection {
  readonly program: string;
  readonly host: string;
}

describe('processes with OUTBOUND_ALLOWED_RANGES=none', { timeout: 180_000 }, () => {
  const directory = temporaryDirectory('waymark-nothing-outward-');
  const file = join(directory, 'connections');
  const services = new Map<string, ForkedService>();
  let redis: TestRedis;
  let database: TestDatabase;
  let settings: Record<string, string>;
  let token: string;

  async function call<Body>(service: string, method: 'GET' | 'POST', path: string, body?: object) {
    const url = services.get(service)?.url ?? '';
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text) as Body };
  }
  function hostsOf(program: string): readonly string[] {
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    const connections = lines.map((line) => JSON.parse(line) as Connection);
    return [...new Set(connections.filter((connection) => connection.program === program).map(({ host }) => host))];
  }

  async function start(name: keyof typeof PROGRAMS): Promise<void> {
    const [port, linkPort] = await Promise.all(
      ['api', 'links'].map((one) => stablePort(`${name} ${one} ${directory}`)),
    );
    const service = forkService(new URL(`../../${PROGRAMS[name]}`, import.meta.url), {
      ...{ ...settings, DATA_DIR: join(directory, name), LOG_LEVEL: 'silent' },
      ...{ [name === 'writer' ? 'WRITER_PORT' : 'API_PORT']: String(port), LINK_PORT: String(linkPort) },
    });
    services.set(name, service);
    await service.ready();
  }

  beforeAll(async () => {
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    settings = {
      ...{ ...storeSettings(redis, database), OUTBOUND_ALLOWED_RANGES: 'none', ADMIN_KEY: 'admin-key'.repeat(4) },
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(noteConnections(file))}`,
    };
    const client = new Redis(redis.url);
    const catalog = createCatalog({
      ...{ redis: client, clickhouse: database.client, instanceKey: Buffer.from(TEST_INSTANCE_KEY, 'hex') },
      ...{ now: Date.now, logger: { warn: () => undefined }, baseUrl: 'https://api.example.com' },
    });
    const { apiKey } = await catalog.workspaces.create({
      ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: DOMAIN },
    });
    token = apiKey.token;
    await catalog.close();
    client.disconnect();
    await Promise.all((Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[]).map(start));
  }, 180_000);
  afterAll(async () => {
    await Promise.all([...services.values()].map((service) => service.kill9()));
    await Promise.all([redis.stop(), database.drop()]);
    rmSync(directory, { recursive: true, force: true });
  });

  it.each(['http', 'management'] as const)('%s fetches no page, no logo and no links', async (service) => {
    const page = await call(service, 'GET', `/links/metatags?url=${OUTSIDE}/page`);
    expect([page.status, page.body]).toEqual([200, { title: null, description: null, image: null }]);
    const link = { domain: DOMAIN, key: `of-${service}`, url: 'https://acme.example/' };
    const { shortLink } = (await call<Link>(service, 'POST', '/links', link)).body;
    const code = await call(service, 'GET', `/qr?url=${encodeURIComponent(shortLink)}&logo=${OUTSIDE}/logo.png`);
    expect([code.status, code.text]).toEqual([422, expect.stringContaining('could not be fetched')]);
    const started = await call<ImportJob>(service, 'POST', '/imports', {
      ...{ source: 'shlink', address: OUTSIDE, credentials: { apiKey: 'key-of-the-source' } },
    });
    expect(started.status).toBe(202);
    await waitFor(
      async () => (await call<ImportJob>(service, 'GET', `/imports/${started.body.id}`)).body.status === 'failed',
      { what: 'the import to fail' },
    );
    expect(hostsOf(PROGRAMS[service])).toEqual(['127.0.0.1']);
  });

  it.each(['http', 'query'] as const)('%s uploads nothing', async (service) => {
    const answer = await call(service, 'POST', '/exports/schedules', {
      ...{ resource: 'events', frequency: 'hourly', format: 'csv', filters: { event: 'sales' } },
      destination: {
        ...{ type: 's3', endpoint: OUTSIDE, region: 'eu-central-1', bucket: 'warehouse' },
        ...{ accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' },
      },
    });
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('has no public address')]);
    expect(hostsOf(PROGRAMS[service])).toEqual(['127.0.0.1']);
  });

  it('the writer and its process of deliveries deliver no webhook', async () => {
    const webhook = { name: 'Hook', url: `${OUTSIDE}/hook`, triggers: ['link.created'] };
    expect((await call('management', 'POST', '/webhooks', webhook)).status).toBe(201);
    const link = { domain: DOMAIN, key: 'reported', url: 'https://acme.example/' };
    expect((await call('management', 'POST', '/links', link)).status).toBe(200);
    const attempts = async () => {
      const query = 'SELECT DISTINCT error FROM webhook_deliveries';
      const result = await database.client.query({ query, format: 'JSONEachRow' });
      return (await result.json()) as { error: string }[];
    };
    await waitFor(async () => (await attempts()).length > 0, { what: 'an attempt' });
    expect(await attempts()).toEqual([{ error: 'the host has no public address' }]);
    for (const program of [PROGRAMS.writer, DELIVERIES]) expect(hostsOf(program)).toEqual(['127.0.0.1']);
  });

  it('the command line imports nothing', async () => {
    const environment = { ...settings, DATA_DIR: directory, IMPORT_CREDENTIAL: 'key-of-the-source' };
    const report = ['--report', join(directory, 'report')];
    const { code, stderr } = await runCli(environment, 'import', 'shlink', OUTSIDE, '--workspace', 'acme', ...report);
    expect([code, stderr]).toEqual([1, expect.stringContaining('address')]);
    expect(hostsOf(COMMAND_LINE)).toEqual(['127.0.0.1']);
  });
});
