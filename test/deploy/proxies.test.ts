import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { endingOf, freePort, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caddyfile, hasProgram, localCaddyfile, localNginxConf } from './lib/proxies.js';

/** The proxies of the reference deployments, in front of a server that returns the request it received. */

/** Headers that only an edge or a proxy may set. */
const FORGED = {
  forwarded: 'for=192.0.2.1',
  'x-forwarded-host': 'forged.example',
  'x-real-ip': '192.0.2.1',
  'x-vercel-ip-country': 'BR',
  'x-vercel-ip-country-region': 'SP',
  'x-vercel-ip-city': 'Campinas',
  'x-vercel-ip-continent': 'SA',
  'cf-ipcountry': 'BR',
  'cf-region-code': 'SP',
  'cf-ipcity': 'Campinas',
  'cf-ipcontinent': 'SA',
  'cloudfront-viewer-country': 'BR',
  'cloudfront-viewer-country-region': 'SP',
  'cloudfront-viewer-city': 'Campinas',
};

/** As long as a redirect's headers get: the longest destination in the longest characters, and the longest query of a visit. */
const LONG_LOCATION = `https://acme.com/${'%E8%AA%9E'.repeat(32_000)}?q=${'u'.repeat(16_000)}`;

interface Reached {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly location: string | undefined;
}

let directory: string;
let behind: Server;
let behindPort: number;
const children: ChildProcess[] = [];

/** Uses `node:http`, which sends paths unchanged; `fetch` removes `..` and empty segments. */
function get(port: number, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((done, failed) => {
    const sent = request({ host: '127.0.0.1', port, path, headers, maxHeaderSize: 1_000_000 }, (response) => {
      const { statusCode: status = 0, headers } = response;
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => done({ status, text, location: headers.location }));
    });
    sent.on('error', failed);
    sent.end();
  });
}

async function run(program: string, args: readonly string[], port: number): Promise<void> {
  const env = environmentWith({ HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory });
  const child = spawn(program, args, { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  children.push(child);
  await waitFor(() => get(port, '/healthz').catch(() => undefined), {
    what: `${program} to answer`,
    failure: () => endingOf(child) && `${program} has ended`,
    details: () => output,
  });
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'waymark-proxies-'));
  behind = createServer(({ url, headers }, response) => {
    if (url === '/long') response.writeHead(302, { location: LONG_LOCATION });
    response.end(JSON.stringify({ path: url, headers }));
  });
  behindPort = await freePort();
  behind.listen(behindPort, '127.0.0.1');
  await once(behind, 'listening');
});
afterAll(async () => {
  for (const child of children) {
    if (endingOf(child) !== undefined) continue;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await gone;
  }
  behind.closeAllConnections();
  behind.close();
  rmSync(directory, { recursive: true, force: true });
});

const INTERNAL = [
  '/internal/domain-check?domain=a.example',
  '/internal/',
  '/%69nternal/domain-check?domain=a.example',
  '/links/../internal/domain-check?domain=a.example',
  '/./internal/domain-check?domain=a.example',
];

/** The tests of both proxies, at the given ports. */
function testProxy(ports: () => { readonly api: number; readonly links: number }): void {
  it.each(['api', 'links'] as const)('passes no forged header on at the port of %s', async (port) => {
    const { status, text } = await get(ports()[port], '/some/path?a=1', { ...FORGED, 'user-agent': 'a visitor' });
    const { path, headers } = JSON.parse(text) as Reached;
    expect([status, path, headers['user-agent']]).toEqual([200, '/some/path?a=1', 'a visitor']);
    const forged = Object.entries(FORGED).filter(([name, value]) => headers[name] === value);
    expect(forged).toEqual([]);
    expect(headers['x-forwarded-for']).toBe('127.0.0.1');
  });

  it('passes a redirect to the longest destination on', async () => {
    const { status, location } = await get(ports().links, '/long');
    expect([status, location === LONG_LOCATION]).toEqual([302, true]);
  });

  it.each(INTERNAL)('does not pass %s on at the port of the API', async (path) => {
    const { status, text } = await get(ports().api, path);
    expect([status, text.includes('"path"')]).toEqual([404, false]);
  });
}

describe.skipIf(!hasProgram('nginx', '-v'))('nginx of docker-compose.yml', () => {
  const ports = { api: 0, links: 0, internal: 0 };
  beforeAll(async () => {
    for (const name of ['api', 'links', 'internal'] as const) ports[name] = await freePort();
    const upstreams = ['ingest:3000', 'ingest:3001', 'query:3000', 'management:3000'];
    const local = Object.fromEntries(upstreams.map((name) => [name, behindPort]));
    const conf = join(directory, 'nginx.conf');
    const listening = { 8080: ports.api, 8081: ports.links, 8082: ports.internal };
    writeFileSync(conf, localNginxConf({ ...local, ...listening }, directory));
    await run('nginx', ['-p', directory, '-c', conf, '-g', 'daemon off;'], ports.api);
  });

  testProxy(() => ports);

  it('answers the domain check, and nothing else, at a port of this host', async () => {
    const answer = await get(ports.internal, '/internal/domain-check?domain=a.example');
    expect(JSON.parse(answer.text)).toMatchObject({ path: '/internal/domain-check?domain=a.example' });
    for (const path of ['/', '/internal/other', '/links', '/metrics']) {
      expect((await get(ports.internal, path)).status).toBe(404);
    }
  });
});

describe.skipIf(!hasProgram('caddy', 'version'))('Caddy of docs/production.md', () => {
  const ports = { api: 0, links: 0 };
  beforeAll(async () => {
    for (const name of ['api', 'links'] as const) ports[name] = await freePort();
    const file = join(directory, 'Caddyfile');
    writeFileSync(file, localCaddyfile({ ...ports, apiBehind: behindPort, linksBehind: behindPort }));
    await run('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], ports.api);
  });

  it('accepts the file in the documentation', () => {
    const file = join(directory, 'Caddyfile.printed');
    writeFileSync(file, caddyfile());
    const env = environmentWith({ HOME: directory });
    const adapted = execFileSync('caddy', ['adapt', '--config', file, '--adapter', 'caddyfile'], {
      env,
      encoding: 'utf8',
    });
    expect(adapted).toContain('/internal/domain-check');
  });

  testProxy(() => ports);
});
