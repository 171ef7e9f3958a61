import { ApiError, ERROR_STATUS, type ErrorCode } from '@waymark/contract';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { App } from '../../src/index.js';
import { aTestApp, DOC_BASE } from '../test-app.js';

let app: App;
afterEach(() => app.close());

function start(addRoutes: (routes: App) => void): { lines: () => string } {
  const started = aTestApp({}, addRoutes);
  app = started.app;
  return started;
}

describe('errors thrown by a handler', () => {
  it.each(Object.entries(ERROR_STATUS) as [ErrorCode, number][])(
    '%s answers %i in the error body',
    async (code, status) => {
      start((routes) => {
        routes.get('/echo', async () => {
          throw new ApiError(code, 'Because.');
        });
      });
      const response = await app.inject('/echo');
      expect(response.statusCode).toBe(status);
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(response.json()).toEqual({
        error: {
          code,
          message: 'Because.',
          doc_url: `${DOC_BASE}/api-reference/errors#${code.replaceAll('_', '-')}`,
        },
      });
    },
  );

  it.each([
    ['an unavailable store', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), '1'],
    ['an error caused by that', new Error('query', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) }), '1'],
    [
      'a store whose unix socket does not exist',
      Object.assign(new Error('connect'), { code: 'ENOENT', syscall: 'connect' }),
      '1',
    ],
    ['a file that does not exist', Object.assign(new Error('open'), { code: 'ENOENT', syscall: 'open' }), undefined],
    [
      'a store that closed the connection',
      Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
      '1',
    ],
    ['a store that takes too long', new DOMException('The operation was aborted', 'TimeoutError'), '1'],
    ['an internal error', new TypeError('undefined is not a function'), undefined],
  ])('a 500 for %s has Retry-After if a retry may succeed', async (_what, thrown, header) => {
    start((routes) => {
      routes.get('/echo', async () => {
        throw thrown;
      });
    });
    const response = await app.inject('/echo');
    expect([response.statusCode, response.headers['retry-after']]).toEqual([500, header]);
    const message = header === undefined ? /^Something went wrong/ : /^A store does not answer .* try again\.$/;
    expect(response.json().error.message).toMatch(message);
  });

  it.each([
    [0, '1'],
    [0.2, '1'],
    [7, '7'],
    [7.1, '8'],
  ])('%d seconds to wait are sent as Retry-After: %s', async (retryAfterSeconds, header) => {
    start((routes) => {
      routes.get('/echo', async () => {
        throw new ApiError('internal_server_error', 'Later.', { retryAfterSeconds });
      });
    });
    expect((await app.inject('/echo')).headers['retry-after']).toBe(header);
  });

  it.each([
    ['an error', () => new Error('password=hunter2')],
    ['a string', () => 'hunter2'],
    ['undefined', () => undefined],
    ['an error with a status of its own', () => Object.assign(new Error('hunter2'), { statusCode: 418, status: 418 })],
    ['a foreign error with one of our codes', () => Object.assign(new Error('hunter2'), { code: 'bad_request' })],
  ])('%s becomes a 500 without detail, logged with the request id', async (_what, thrown) => {
    const { lines } = start((routes) => {
      routes.get('/echo', async () => {
        throw thrown();
      });
    });
    const response = await app.inject('/echo');
    const id = response.headers['x-request-id'] as string;
    expect(response.statusCode).toBe(500);
    expect(response.json().error).toMatchObject({
      code: 'internal_server_error',
      message: `Something went wrong on our side. Please quote request ${id} when reporting it.`,
    });
    expect(lines()).toContain(`"requestId":"${id}"`);
    expect(lines()).toContain('"level":50');
  });

  it('are logged once a second, with the number of the others, while a store is away', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    const { lines } = start((routes) => {
      routes.get('/away', async () => {
        throw Object.assign(new Error('no store'), { code: 'ECONNREFUSED' });
      });
      routes.get('/broken', async () => {
        throw new Error('a bug');
      });
    });
    const failed = () => lines().split('request failed').length - 1;
    for (let count = 0; count < 30; count++) await app.inject('/away');
    expect(failed()).toBe(1);
    clock.mockReturnValue(1000);
    await app.inject('/away');
    expect(failed()).toBe(2);
    expect(lines()).toContain('"othersFailed":29');
    for (let count = 0; count < 3; count++) await app.inject('/broken');
    expect(failed()).toBe(5);
    clock.mockRestore();
  });

  it('an extra field in a response is an internal error: 500, and the field is not sent', async () => {
    start((routes) => {
      routes.get('/echo', { schema: { response: { 200: z.strictObject({ a: z.string() }) } } }, async () => {
        const body = { a: 'x', secretColumn: 'hunter2' };
        return body;
      });
    });
    const response = await app.inject('/echo');
    expect(response.statusCode).toBe(500);
    expect(response.body).not.toMatch(/hunter2|secretColumn/);
  });
});

describe('requests that match no route', () => {
  it.each([
    ['GET', '/nope'],
    ['POST', '/nope'],
    ['DELETE', '/here'],
    ['OPTIONS', '/here'],
    ['GET', '/here/'],
    ['GET', '//here'],
    ['GET', '/HERE'],
  ] as const)('%s %s answers 404 not_found', async (method, url) => {
    start((routes) => {
      routes.get('/here', async () => 'yes');
    });
    const response = await app.inject({ method, url });
    expect(response.statusCode).toBe(404);
    expect(response.json().error.code).toBe('not_found');
  });

  it('an unknown route is 404 even when the body is invalid or has another type', async () => {
    start(() => {});
    for (const type of ['application/json', 'text/html', 'multipart/form-data']) {
      const response = await app.inject({ method: 'POST', url: '/nope', headers: { 'content-type': type }, body: '{' });
      expect(response.statusCode).toBe(404);
    }
  });

  it.each(['/keys/%', '/keys/%zz', '/keys/%e0%a4', '/%80'])('the broken encoding in %s answers 400', async (url) => {
    start((routes) => {
      routes.get('/keys/:key', async () => 'yes');
    });
    const response = await app.inject(url);
    expect(response.statusCode).toBe(400);
    expect(response.json().error).toMatchObject({ code: 'bad_request', message: 'The URL is malformed.' });
    expect(response.headers['x-request-id']).toBeDefined();
  });

  it('a path parameter is decoded once, however long a key may be', async () => {
    start((routes) => {
      routes.get('/keys/:key', { schema: { params: z.object({ key: z.string() }) } }, async (request) => ({
        key: request.params.key,
      }));
    });
    expect((await app.inject('/keys/ext_a%2Fb%2525')).json()).toEqual({ key: 'ext_a/b%25' });
    const key = '語'.repeat(190);
    expect((await app.inject(`/keys/${encodeURIComponent(key)}`)).json()).toEqual({ key });
    expect((await app.inject(`/keys/${'a'.repeat(5000)}`)).statusCode).toBe(404);
  });
});

describe('request bodies', () => {
  const echo = (routes: App) => {
    routes.post('/echo', { schema: { body: z.object({ a: z.string() }) } }, async (request) => request.body);
    routes.post('/any', async (request) => ({ body: request.body ?? 'none' }));
    routes.delete('/any', async (request) => ({ body: request.body ?? 'none' }));
  };
  const post = (url: string, body: string, type = 'application/json') =>
    app.inject({ method: 'POST', url, headers: { 'content-type': type }, body });

  it.each([
    '{',
    '{"a":}',
    "{'a':1}",
    'a=1',
    '\u0000',
    '{"a":1}}',
    '{"__proto__":{}}',
    '{"a":{"constructor":{"prototype":1}}}',
  ])('JSON that cannot be read (%j) answers 400', async (body) => {
    start(echo);
    const response = await post('/echo', body);
    expect(response.statusCode).toBe(400);
    expect(response.json().error).toMatchObject({
      code: 'bad_request',
      message: 'The request body is not valid JSON, or has a member __proto__ or constructor.prototype.',
    });
  });

  it.each(['text/html', 'multipart/form-data', 'application/xml', 'nonsense', 'application/jsonx'])(
    'a body of type %s answers 400, not 415',
    async (type) => {
      start(echo);
      const response = await post('/echo', '{"a":"b"}', type);
      expect(response.statusCode).toBe(400);
      expect(response.json().error.code).toBe('bad_request');
    },
  );

  const DEFAULT_TYPES = [undefined, 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded'];

  it.each(DEFAULT_TYPES)('JSON is read with the type %s, which clients send by default', async (type) => {
    start(echo);
    const headers = type === undefined ? {} : { 'content-type': type };
    const send = (method: 'POST' | 'DELETE', url: string, body: string) =>
      app.inject({ method, url, headers: { ...headers, 'content-length': String(body.length) }, body });
    expect((await send('POST', '/echo', '{"a":"b+%20"}')).json()).toEqual({ a: 'b+%20' });
    expect((await send('POST', '/echo', 'a=b')).json().error.message).toContain('not valid JSON');
    expect((await send('DELETE', '/any', '')).json()).toEqual({ body: 'none' });
    expect((await send('POST', '/nope', '{')).statusCode).toBe(404);
    const large = await send('POST', '/echo', JSON.stringify({ a: 'x'.repeat(1024 * 1024) }));
    expect(large.json().error.message).toBe('The request body is too large.');
  });

  it('JSON without a type is read also in chunks', async () => {
    start(echo);
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const body = new Blob(['{"a":"b"}']).stream();
    const response = await fetch(`${address}/echo`, { method: 'POST', body, duplex: 'half' });
    expect(await response.json()).toEqual({ a: 'b' });
  });

  it('a charset parameter is accepted and unknown fields are ignored', async () => {
    start(echo);
    const response = await post('/echo', '{"a":"b","unknown":1}', 'application/json; charset=utf-8');
    expect(response.json()).toEqual({ a: 'b' });
  });

  it('a body that is too large answers 400, not 413', async () => {
    start(echo);
    const response = await post('/echo', JSON.stringify({ a: 'x'.repeat(1024 * 1024) }));
    expect(response.statusCode).toBe(400);
    expect(response.json().error.message).toBe('The request body is too large.');
  });

  it('an empty body counts as none: accepted where no body is needed, 400 where one is', async () => {
    start(echo);
    expect((await post('/any', '')).json()).toEqual({ body: 'none' });
    const deletion = await app.inject({
      method: 'DELETE',
      url: '/any',
      headers: { 'content-type': 'application/json' },
    });
    expect(deletion.json()).toEqual({ body: 'none' });
    expect((await post('/echo', '')).statusCode).toBe(400);
    expect((await app.inject({ method: 'POST', url: '/echo' })).statusCode).toBe(400);
  });

  it('a change without a body is read as one without fields where all are optional, and answers 400 where one is required', async () => {
    const body = z.object({ a: z.string().optional() });
    const { a } = body.required().shape;
    start((routes) => {
      routes.patch('/optional', { schema: { body } }, async (request) => ({ read: request.body }));
      routes.patch('/required', { schema: { body: z.object({ a }) } }, async () => 'read');
      routes.patch('/needed', { config: { needsBody: true }, schema: { body } }, async () => 'read');
      routes.post('/optional', { schema: { body } }, async () => 'read');
    });
    const send = (method: 'PATCH' | 'POST', url: string, payload?: string, headers = {}) =>
      app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    const json = { 'content-type': 'application/json' };
    for (const headers of [{}, json, { 'content-length': '0' }, { 'content-type': 'text/plain' }]) {
      const response = await send('PATCH', '/optional', undefined, headers);
      expect([response.statusCode, response.json()], JSON.stringify(headers)).toEqual([200, { read: {} }]);
    }
    expect((await send('PATCH', '/optional', '{"a":"b"}', json)).json()).toEqual({ read: { a: 'b' } });
    for (const text of ['null', '[]', '"a"', '7', 'false', '{', ' ', '{"a":7}'])
      expect((await send('PATCH', '/optional', text, json)).statusCode, text).toBe(400);
    for (const response of [
      await send('PATCH', '/required'),
      await send('PATCH', '/needed'),
      await send('POST', '/optional'),
    ]) {
      expect(response.statusCode).toBe(400);
      expect(response.json().error.message).toBe('required: body: is required');
    }
  });

  it('a deeply nested body answers 400, whatever the schema', async () => {
    start((routes) => {
      routes.post('/echo', { schema: { body: z.json() } }, async () => 'read');
    });
    const response = await post('/echo', '['.repeat(200_000) + ']'.repeat(200_000));
    expect(response.statusCode).toBe(400);
    expect(response.json().error.code).toBe('bad_request');
  });
});

describe('request ids', () => {
  it('every response has a unique one', async () => {
    start((routes) => {
      routes.get('/echo', async () => 'ok');
    });
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () => (await app.inject('/echo')).headers['x-request-id']),
    );
    expect(new Set(ids).size).toBe(50);
  });

  it.each(['req-1', '01JABCDEF', 'a:b/c.d=e+f', 'f'.repeat(128)])('a proxy’s id is kept: %s', async (id) => {
    start(() => {});
    expect((await app.inject({ url: '/echo', headers: { 'x-request-id': id } })).headers['x-request-id']).toBe(id);
  });

  it.each(['203.0.113.7', '2001:db8::7', '::ffff:203.0.113.7', 'fe80::7%eth0'])(
    'that of the untrusted client %s is replaced',
    async (remoteAddress) => {
      start(() => {});
      const answer = await app.inject({ url: '/echo', remoteAddress, headers: { 'x-request-id': 'TRACE.1' } });
      expect(answer.headers['x-request-id']).toMatch(/^[a-z0-9]+-[a-z0-9]+$/);
    },
  );

  it.each(['127.0.0.9', '::1', '::ffff:127.0.0.1'])('that of the proxy %s is kept', async (remoteAddress) => {
    start(() => {});
    const answer = await app.inject({ url: '/echo', remoteAddress, headers: { 'x-request-id': 'TRACE.1' } });
    expect(answer.headers['x-request-id']).toBe('TRACE.1');
  });

  it.each(['', ' ', 'a b', 'a\nb', '"', '-a', 'é', 'f'.repeat(129), '{"level":60}'])(
    'an id that could forge a log line is replaced: %j',
    async (id) => {
      start(() => {});
      const answered = (await app.inject({ url: '/echo', headers: { 'x-request-id': id } })).headers['x-request-id'];
      expect(answered).toMatch(/^[a-z0-9]+-[a-z0-9]+$/);
    },
  );
});
