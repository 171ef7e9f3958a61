import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { environmentWith } from '@waymark/config';
import {
  createTestDatabase,
  freePort,
  startRedis,
  type TestDatabase,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import { Dub } from 'dub';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { UP_MS_MAX } from '../../services/standalone/test/process/run-up.js';
import { withSecrets } from '../deploy/lib/manifests.js';
import { hasProgram, localNginxConf } from '../deploy/lib/proxies.js';
import { visit } from './lib/visit.js';

/**
 * Tests docker-compose.yml without a Docker engine: its services run as plain processes with the commands,
 * settings and health checks of the file, behind nginx with the configuration of the file where nginx is installed.
 */
const ROOT = resolve(import.meta.dirname, '../..');
const SERVICES = ['ingest', 'query', 'management', 'writer'] as const;
type ServiceName = (typeof SERVICES)[number];

interface ComposeService {
  readonly image: string;
  readonly command: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment: Readonly<Record<string, string | null>>;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
};

function serviceOf(name: string): ComposeService {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return service;
}

describe('docker-compose.yml', () => {
  it('pins every image', () => {
    for (const { image } of Object.values(compose.services)) expect(image).toMatch(/:v?\d+\.\d+[\w.-]*$/);
  });

  it('publishes ports on this machine only', () => {
    const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
    expect(ports.filter((mapping) => !mapping.startsWith('127.0.0.1:'))).toEqual([]);
    expect(ports).toHaveLength(4);
  });

  it('starts services only after their dependencies are healthy', () => {
    for (const name of SERVICES) {
      expect(serviceOf(name).depends_on).toMatchObject({
        redis: { condition: 'service_healthy' },
        clickhouse: { condition: 'service_healthy' },
        migrate: { condition: 'service_completed_successfully' },
      });
      expect(serviceOf('proxy').depends_on?.[name]?.condition).toBe('service_healthy');
    }
  });

  it('configures Redis to lose no acknowledged write and to evict nothing', () => {
    const command = serviceOf('redis').command.join(' ');
    expect(command).toContain('--appendonly yes --appendfsync always');
    expect(command).toContain('--maxmemory-policy noeviction');
  });
});

describe('the services of docker-compose.yml', { timeout: 120_000 }, () => {
  let redis: TestRedis;
  let database: TestDatabase;
  let directory: string;
  const ports = new Map<string, number>();
  const children: ChildProcess[] = [];
  let output = '';

  const port = (name: string) => ports.get(name) ?? 0;
  /** The settings of the file, with the addresses of the containers replaced by local ones. */
  function settingsOf(name: string): Record<string, string> {
    const environment = withSecrets(serviceOf(name).environment);
    const redisUrl = new URL(environment.REDIS_URL ?? '');
    const { origin, username, password } = new URL(database.url);
    return {
      ...environment,
      HOST: '127.0.0.1',
      DATA_DIR: join(directory, name),
      API_PORT: String(port(`${name} api`)),
      LINK_PORT: String(port(`${name} links`)),
      WRITER_PORT: String(port(`${name} health`)),
      REDIS_URL: `redis://:${redisUrl.password}@127.0.0.1:${redis.port}`,
      CLICKHOUSE_URL: origin,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: `${database.database}_compose`,
    };
  }

  /** Runs the health check of the file, with the local port. */
  async function isHealthy(name: ServiceName): Promise<boolean> {
    const [, program = '', ...args] = serviceOf(name).healthcheck.test;
    const local = args.map((arg) =>
      arg.replace(':3000/', `:${port(`${name} api`)}/`).replace(':3002/', `:${port(`${name} health`)}/`),
    );
    return new Promise((done) => execFile(program, local, (err) => done(err === null)));
  }

  function start(program: string, args: readonly string[], env: Record<string, string>): void {
    const child = spawn(program, args, { cwd: ROOT, env: environmentWith(env), stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
    children.push(child);
  }

  function waymark(...args: string[]): Record<string, unknown> {
    const [program = '', ...entry] = serviceOf('migrate').entrypoint ?? [];
    const env = environmentWith(settingsOf('migrate'));
    return JSON.parse(execFileSync(program, [...entry, ...args, '--json'], { cwd: ROOT, env, encoding: 'utf8' }));
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'waymark-compose-'));
    const required = serviceOf('redis').command.at(-1) ?? '';
    const { password = '' } = withSecrets({ password: required });
    const names = ['proxy api', 'proxy links', 'proxy internal', 'migrate api', 'migrate links', 'migrate health'];
    for (const name of SERVICES) names.push(`${name} api`, `${name} links`, `${name} health`);
    const free = await Promise.all(names.map(() => freePort()));
    for (const [index, name] of names.entries()) ports.set(name, free[index] ?? 0);
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    const client = new Redis(redis.url);
    await client.config('SET', 'requirepass', password);
    client.disconnect();
    waymark(...serviceOf('migrate').command);
    for (const name of SERVICES) {
      const [program = '', ...args] = serviceOf(name).command;
      start(program, args, settingsOf(name));
    }
  }, UP_MS_MAX);

  afterAll(async () => {
    for (const child of children) {
      const gone = once(child, 'exit');
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGTERM');
      await gone;
    }
    await database.client.command({ query: `DROP DATABASE IF EXISTS ${database.database}_compose` });
    await Promise.all([redis.stop(), database.drop()]);
    rmSync(directory, { recursive: true, force: true });
  });

  it.each(SERVICES)('%s becomes healthy by its own health check', async (name) => {
    await waitFor(() => isHealthy(name), { what: `${name} to be healthy`, details: () => output });
  });

  it('are all shown as up on /ops of management', async () => {
    const { ADMIN_KEY = '' } = settingsOf('management');
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    await waitFor(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${port('management api')}/ops/data`, { headers });
        const { components } = (await answer.json()) as { components: string };
        return ['redis', 'clickhouse', ...SERVICES].every((name) =>
          components.includes(`data-component="${name}" data-state="up"`),
        );
      },
      { what: 'every component' },
    );
  });

  it.skipIf(!hasProgram('nginx', '-v'))('carry an event of each kind through the proxy', async () => {
    const conf = join(directory, 'nginx.conf');
    const addresses = {
      ...{ 'ingest:3000': port('ingest api'), 'ingest:3001': port('ingest links') },
      ...{ 'query:3000': port('query api'), 'management:3000': port('management api') },
      ...{ 8080: port('proxy api'), 8081: port('proxy links'), 8082: port('proxy internal') },
    };
    writeFileSync(conf, localNginxConf(addresses, directory));
    start('nginx', ['-p', directory, '-c', conf, '-g', 'daemon off;'], {});
    const serverURL = `http://127.0.0.1:${port('proxy api')}`;
    await waitFor(async () => (await fetch(`${serverURL}/readyz`)).ok, { what: 'nginx', details: () => output });

    const { apiKey } = waymark('workspace', 'create', '--slug', 'compose', '--domain', 'go.compose.test') as {
      apiKey: string;
    };
    const dub = new Dub({ token: apiKey, serverURL });
    const link = await dub.links.create({ url: 'https://example.com/', key: 'a', trackConversion: true });
    const { clickId } = await visit(`http://127.0.0.1:${port('proxy links')}/${link.key}`, {
      host: 'go.compose.test',
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36',
      'x-forwarded-for': '203.0.113.9',
    });
    await waitFor(() => dub.track.lead({ clickId, eventName: 'Sign up', customerExternalId: 'compose-1' }), {
      what: 'the lead to be accepted',
    });
    await dub.track.sale({ customerExternalId: 'compose-1', amount: 500, currency: 'usd', invoiceId: 'compose-1' });
    for (const event of ['clicks', 'leads', 'sales'] as const) {
      const found = await waitFor(async () => (await dub.events.list({ event }))[0], {
        what: `the event among ${event}`,
      });
      expect(found).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    }
    const long = `${serverURL}/events?query=${encodeURIComponent('é'.repeat(10_000))}`;
    const answer = await fetch(long, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(answer.headers.get('content-type')).toContain('application/json');
  });
});
