import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { freePort } from '@waymark/test-kit';
import { createClientAddressReader } from '@waymark/visit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caddyfile, hasProgram, type RunningProxy, startCaddy, startNginx } from './lib/proxies.js';

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
let proxy: RunningProxy;

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

/** Addresses of a visitor, and of the proxy as the services see it. The CDN of these tests has the address of this machine. */
const VISITOR = '203.0.113.7';
const PROXY = '192.0.2.10';
const CDN = '127.0.0.1';

/** The visitor that Waymark records of a visit through the CDN, which appends the visitor's address to what the visitor has forged. */
async function recordedVisitor(port: number, trustedProxies: readonly string[]): Promise<string> {
  const { text } = await get(port, '/try', { 'x-forwarded-for': `198.51.100.1, ${VISITOR}` });
  const { headers } = JSON.parse(text) as Reached;
  const forwardedFor = headers['x-forwarded-for'];
  return createClientAddressReader(trustedProxies)(PROXY, [forwardedFor].flat().join(', ')).address;
}

/** The tests of both proxies behind a CDN, set up as in the table of docs/production.md. */
function testBehindCdn(): void {
  it.each(['api', 'links'] as const)(
    'visitors keep their addresses with TRUSTED_PROXIES, at the port of %s',
    async (port) => {
      expect(await recordedVisitor(proxy.ports[port], [PROXY, CDN])).toBe(VISITOR);
    },
  );

  it('all visitors have the address of the CDN if TRUSTED_PROXIES lacks it', async () => {
    expect(await recordedVisitor(proxy.ports.links, [PROXY])).toBe(CDN);
  });
}

/** The tests of both proxies. */
function testProxy(): void {
  afterAll(() => proxy.stop());

  it.each(['api', 'links'] as const)('passes no forged header on at the port of %s', async (port) => {
    const { status, text } = await get(proxy.ports[port], '/some/path?a=1', { ...FORGED, 'user-agent': 'a visitor' });
    const { path, headers } = JSON.parse(text) as Reached;
    expect([status, path, headers['user-agent']]).toEqual([200, '/some/path?a=1', 'a visitor']);
    const forged = Object.entries(FORGED).filter(([name, value]) => headers[name] === value);
    expect(forged).toEqual([]);
    expect(headers['x-forwarded-for']).toBe('127.0.0.1');
  });

  it('passes a redirect to the longest destination on', async () => {
    const { status, location } = await get(proxy.ports.links, '/long');
    expect([status, location === LONG_LOCATION]).toEqual([302, true]);
  });

  it.each(INTERNAL)('does not pass %s on at the port of the API', async (path) => {
    const { status, text } = await get(proxy.ports.api, path);
    expect([status, text.includes('"path"')]).toEqual([404, false]);
  });
}

describe.skipIf(!hasProgram('nginx', '-v'))('nginx of docker-compose.yml', () => {
  beforeAll(async () => {
    proxy = await startNginx(directory, { api: behindPort, links: behindPort });
  });

  testProxy();

  describe('behind a CDN', testBehindCdn);

  it('answers the domain check, and nothing else, at a port of this host', async () => {
    const answer = await get(proxy.ports.internal, '/internal/domain-check?domain=a.example');
    expect(JSON.parse(answer.text)).toMatchObject({ path: '/internal/domain-check?domain=a.example' });
    for (const path of ['/', '/internal/other', '/links', '/metrics']) {
      expect((await get(proxy.ports.internal, path)).status).toBe(404);
    }
  });
});

describe.skipIf(!hasProgram('caddy', 'version'))('Caddy of docs/production.md', () => {
  beforeAll(async () => {
    proxy = await startCaddy(directory, { api: behindPort, links: behindPort });
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

  testProxy();

  it('all visitors have the address of the CDN in front of it, whatever is trusted, without the line for it', async () => {
    expect(await recordedVisitor(proxy.ports.links, [PROXY, CDN])).toBe(CDN);
  });
});

describe.skipIf(!hasProgram('caddy', 'version'))('Caddy of docs/production.md behind a CDN', () => {
  beforeAll(async () => {
    proxy = await startCaddy(directory, { api: behindPort, links: behindPort }, CDN);
  });
  afterAll(() => proxy.stop());

  testBehindCdn();
});
