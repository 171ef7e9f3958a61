import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type App, createApp, createLogger } from '@waymark/http-kit';
import { elapsedMs, leastOf, waitFor } from '@waymark/test-kit';
import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { requestCountPlugin, startTracing, type Tracing } from '../src/index.js';
import { createRequestCounts } from '../src/metrics/request-counts.js';

interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

let receiver: Server;
let otlpEndpoint: string;
let tracing: Tracing;
let app: App;
let url: string;
const bodies: string[] = [];
const keys: (string | undefined)[] = [];
const warnings: string[] = [];
const logger = { debug() {}, warn: (_context: object, message: string) => void warnings.push(message) };

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => {
      body += String(data);
    });
    request.on('end', () => {
      if (request.url === '/v1/traces') bodies.push(body);
      keys.push(request.headers.authorization);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  otlpEndpoint = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const settings = { otlpEndpoint, otlpHeaders: { authorization: 'Bearer receiver' }, tracedShare: 1 };
  const made = await startTracing({ service: 'http', settings, logger });
  if (made === undefined) throw new Error('no tracing');
  tracing = made;
  app = createApp({
    logger: createLogger({ name: 'test', level: 'silent' }),
    docBase: 'https://docs.example.com',
    trustedProxies: ['127.0.0.1'],
  });
  app.register(requestCountPlugin, { operations: { requests: createRequestCounts(), tracing } });
  app.register(async (routes) => {
    routes.get('/links/:linkId', async (request) => {
      const caller = { endpoint: 'GET /links/:linkId', workspaceId: 'ws_1', requestId: request.id };
      tracing.query(caller, { durationMs: 5, readRows: 7, readBytes: 70, error: '' });
      return { ok: true };
    });
    routes.get('/slow', (request) => {
      request.socket.destroy();
      return new Promise(() => undefined);
    });
    let held: ((answer: string) => void) | undefined;
    routes.get(
      '/held',
      () =>
        new Promise((answer) => {
          held = answer;
        }),
    );
    routes.get('/release', async () => {
      await waitFor(() => held !== undefined, { what: 'the request that waits' });
      held?.('held');
      return 'released';
    });
    routes.get('/broken', async () => {
      throw new Error('hunter-error');
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await app.close();
  await tracing.close();
  receiver.close();
});

function spans(): ExportedSpan[] {
  return bodies.flatMap((body) => {
    const { resourceSpans } = JSON.parse(body) as {
      resourceSpans: { scopeSpans: { spans: ExportedSpan[] }[] }[];
    };
    return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  });
}

const spanNamed = (name: string) =>
  waitFor(() => spans().find((span) => span.name === name), { what: `the span ${name}` });

function attributesOf({ attributes }: ExportedSpan): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

const PARENT = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

it('a request is a span with its route and status, below the caller’s, and its queries are spans below it', async () => {
  const headers = {
    authorization: 'Bearer dub_hunterkey',
    cookie: 'dub_id=hunter-cookie',
    'x-forwarded-for': '203.0.113.77',
    'x-request-id': 'req-1',
    traceparent: `00-${PARENT.traceId}-${PARENT.spanId}-01`,
  };
  await fetch(`${url}/links/hunter-id?password=hunter-query`, { headers });
  const request = await spanNamed('GET /links/:linkId');
  expect(request).toMatchObject({ traceId: PARENT.traceId, parentSpanId: PARENT.spanId });
  expect(attributesOf(request)).toEqual({
    'http.request.method': 'GET',
    'http.route': '/links/:linkId',
    'http.response.status_code': 200,
    'waymark.request_id': 'req-1',
  });
  const query = await spanNamed('clickhouse GET /links/:linkId');
  expect(query).toMatchObject({ traceId: PARENT.traceId, parentSpanId: request.spanId });
  expect(attributesOf(query)).toMatchObject({ 'db.system.name': 'clickhouse', 'waymark.read_rows': 7 });
});

it('two open requests with one id have a span each, with their own routes', async () => {
  const headers = { 'x-request-id': 'req-twice' };
  await Promise.all([fetch(`${url}/held`, { headers }), fetch(`${url}/release`, { headers })]);
  for (const path of ['/held', '/release']) {
    expect(attributesOf(await spanNamed(`GET ${path}`))).toMatchObject({ 'waymark.request_id': 'req-twice' });
  }
  expect(spans().filter(({ name }) => name === 'GET /held' || name === 'GET /release')).toHaveLength(2);
});

it('a failure is an error without its message, and a path without a route is not in its span', async () => {
  await fetch(`${url}/broken`);
  await fetch(`${url}/hunter-path`);
  const broken = await spanNamed('GET /broken');
  expect(broken.status.code).toBe(2);
  expect(attributesOf(broken)['http.response.status_code']).toBe(500);
  expect(attributesOf(await spanNamed('GET unknown'))['http.response.status_code']).toBe(404);
});

it('a request whose client disconnects before its answer is a span with status 499', async () => {
  await expect(fetch(`${url}/slow`)).rejects.toThrow();
  expect(attributesOf(await spanNamed('GET /slow'))['http.response.status_code']).toBe(499);
});

it('an insert batch that a writer stored is a span', async () => {
  const batch = {
    kind: 'click',
    outcome: 'retried',
    rows: 9,
    bytes: 900,
    attempts: 2,
    gatherMs: 1,
    insertMs: 20,
  } as const;
  tracing.batch({ ...batch, storedMs: Date.now(), workspaces: new Map() });
  expect(attributesOf(await spanNamed('store click'))).toMatchObject({ 'waymark.rows': 9, 'waymark.attempts': 2 });
});

it('no span holds a key, a cookie, a path, a query, an error’s words or an address; the receiver gets its own key', () => {
  expect(bodies.join('\n')).not.toMatch(/hunter|203\.0\.113/);
  expect(bodies.join('\n')).toContain('waymark-http');
  expect(new Set(keys)).toEqual(new Set(['Bearer receiver']));
});

it('a caller cannot have its requests traced by a choice of trace id or flag', async () => {
  const traceRequests = async (service: string, tracedShare: number) => {
    const settings = { otlpEndpoint, otlpHeaders: {}, tracedShare };
    const made = await startTracing({ service, settings, logger });
    if (made === undefined) throw new Error('no tracing');
    for (const traceId of ['00000000000000000000000000000001', PARENT.traceId]) {
      const headers = { traceparent: `00-${traceId}-${PARENT.spanId}-01` };
      const request = { id: traceId, method: 'GET', headers } as unknown as FastifyRequest;
      made.begin(request);
      made.end(request, 200, 'GET /links');
    }
    await made.close();
  };
  await traceRequests('all', 1);
  expect(bodies.join('\n')).toContain('waymark-all');
  await traceRequests('hardly-any', 1e-9);
  expect(bodies.join('\n')).not.toContain('waymark-hardly-any');
});

it('a receiver that is away is a line in the log, and no more', async () => {
  const settings = { otlpEndpoint: 'http://127.0.0.1:1', otlpHeaders: {}, tracedShare: 1 };
  const closedAfterMs = async () => {
    const away = await startTracing({ service: 'http', settings, logger });
    away?.query(
      { endpoint: 'GET /', workspaceId: '', requestId: '' },
      { durationMs: 1, readRows: 0, readBytes: 0, error: '' },
    );
    return elapsedMs(async () => away?.close());
  };
  expect(await leastOf(3000, closedAfterMs)).toBeLessThanOrEqual(3000);
});

it('without a receiver no library of traces is loaded', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waymark-coverage-'));
  const index = fileURLToPath(new URL('../dist/index.js', import.meta.url));
  const settings = '{ otlpEndpoint: undefined, otlpHeaders: {}, tracedShare: 1 }';
  const script = `import(${JSON.stringify(index)}).then((m) => m.startTracing({ service: 'http', settings: ${settings}, logger: {} }))`;
  try {
    await promisify(execFile)(process.execPath, ['-e', script], {
      env: { PATH: '', NODE_V8_COVERAGE: directory },
    });
    const reports = readdirSync(directory).map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')));
    const loaded = (reports as { result: { url: string }[] }[]).flatMap(({ result }) => result.map(({ url }) => url));
    expect(loaded.filter((file) => file.endsWith('observability/dist/tracing/start-tracing.js'))).toHaveLength(1);
    expect(loaded.filter((file) => /otlp-tracing|@opentelemetry\/(?:sdk|exporter|resources|core)/.test(file))).toEqual(
      [],
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});
