import { once } from 'node:events';
import { type IncomingMessage, METHODS } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createLogger } from '@waymark/http-kit';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildLinkApp } from '../../src/index.js';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
/** Port of the link app. */
let port: number;
beforeAll(async () => {
  ingest = await startIngest();
  await ingest.linkApp.listen({ host: '127.0.0.1', port: 0 });
  port = (ingest.linkApp.server.address() as AddressInfo).port;
});
afterAll(() => ingest.stop());

/** A connection to the link app, the text that it has received so far, and its end. */
function aClient() {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  return { socket, text: () => text, closed };
}

/** Sends bytes and returns everything received until the server closes the connection. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  await once(socket, 'close');
  return text;
}

/** A link app, listening, that records no click before `held` resolves. */
async function holdingClicks(held: () => Promise<void>) {
  const app = buildLinkApp(
    { logger: createLogger({ name: 'test', level: 'silent' }), docBase: 'http://x', trustedProxies: [] },
    {
      ...ingest.deps,
      producers: [
        {
          ...ingest.producer,
          async recordClick(click) {
            await held();
            return ingest.producer.recordClick(click);
          },
        },
      ],
    },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, port: (app.server.address() as AddressInfo).port };
}

describe('over a socket', () => {
  it('a visitor who sends more than fifty requests without waiting is cut off, and no more of them are processed', async () => {
    const { key } = await ingest.link({ trackConversion: true });
    const visit = `GET /${key} HTTP/1.1\r\nHost: ${DOMAIN}\r\nUser-Agent: ${BROWSER}\r\nX-Forwarded-For: 203.0.113.7\r\n`;
    const redirectsOf = async (count: number) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`${`${visit}\r\n`.repeat(count - 1)}${visit}Connection: close\r\n\r\n`);
      let text = '';
      socket.on('data', (data) => {
        text += data.toString();
      });
      // A connection that is cut off may be reported as a reset.
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.once('close', resolve));
      return text.split('HTTP/1.1 302').length - 1;
    };
    expect(await redirectsOf(40)).toBe(40);
    expect(await redirectsOf(1000)).toBeLessThanOrEqual(51);
  });

  it.each([
    ['a post of another type than a form', 'POST', 'Content-Type: application/json', 401],
    ['a post without a type', 'POST', 'X-Other: 1', 401],
    ['a visit', 'GET', 'X-Other: 1', 401],
    ['a request of another method', 'PUT', 'Content-Type: application/json', 404],
  ])(
    'answers %s without its body, and closes the connection if that comes a byte at a time',
    async (_what, ...rest) => {
      const [method, header, status] = rest;
      const { key } = await ingest.link({ password: 'sesame' });
      const { socket, text, closed } = aClient();
      socket.write(`${method} /${key} HTTP/1.1\r\nHost: ${DOMAIN}\r\n${header}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      await expect.poll(text, { timeout: 20_000 }).toContain(`HTTP/1.1 ${status} `);
      socket.write('1\r\n \r\n'.repeat(50_000));
      await closed;
      expect(text().split('HTTP/1.1 ')).toHaveLength(2);
    },
  );

  it.each(['HTTP/1.1\r\nConnection: close', 'HTTP/1.0'])(
    'answers a post without a form after its body when the connection closes then: %s',
    async (version) => {
      const { key } = await ingest.link({ password: 'sesame' });
      const request = new Promise<IncomingMessage>((resolve) => ingest.linkApp.server.once('request', resolve));
      const head = `POST /${key} ${version}\r\nHost: ${DOMAIN}\r\nContent-Type: application/json\r\nContent-Length: 6`;
      const { socket, text, closed } = aClient();
      socket.write(`${head}\r\n\r\n"text`);
      const received = await request;
      await expect.poll(() => received.readableFlowing, { timeout: 20_000 }).toBe(true);
      expect(text()).toBe('');
      socket.write('"');
      await closed;
      expect(text()).toContain('HTTP/1.1 401 ');
    },
  );

  it('sends Connection: close on keep-alive connections when the app closes', async () => {
    const { key } = await ingest.link();
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const { app, port } = await holdingClicks(() => held);
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /${key} HTTP/1.1\r\nHost: ${DOMAIN}\r\nUser-Agent: ${BROWSER}\r\n\r\n`);
    await once(app.server, 'request');
    const closing = app.close();
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
    });
    letGo();
    await Promise.all([closing, once(socket, 'close')]);
    expect(text).toMatch(/^HTTP\/1\.1 302/);
    expect(text).toContain('connection: close');
  });

  it('answers a visit that is in progress when the app closes, also after idle and silent connections were closed', async () => {
    const { key } = await ingest.link();
    const gates: (() => void)[] = [];
    const { app, port } = await holdingClicks(() => new Promise<void>((resolve) => gates.push(resolve)));
    const socket = connect(port, '127.0.0.1');
    const closed = once(socket, 'close');
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
    });
    const visit = async (userAgent: string) => {
      socket.write(`GET /${key} HTTP/1.1\r\nHost: ${DOMAIN}\r\nUser-Agent: ${userAgent}\r\n\r\n`);
      await waitFor(() => gates.length === 1, { what: 'the visit' });
    };
    await visit(BROWSER);
    gates.pop()?.();
    await waitFor(() => text.includes('HTTP/1.1 302'), { what: 'the first answer' });
    text = '';
    await visit(`${BROWSER} other`);
    const silent = connect(port, '127.0.0.1');
    await once(app.server, 'connection');
    const closing = app.close();
    await once(silent.resume(), 'close');
    gates.pop()?.();
    await Promise.all([closing, closed]);
    expect(text).toMatch(/^HTTP\/1\.1 302/);
  });

  it('serves visits over plain HTTP when the API requires HTTPS, and rejects browser reports', async () => {
    const { key } = await ingest.link();
    const locked = await ingest.link({ password: 'x' });
    const app = buildLinkApp(
      {
        logger: createLogger({ name: 'test', level: 'silent' }),
        docBase: 'http://x',
        trustedProxies: ['127.0.0.1'],
        requireHttps: true,
      },
      ingest.deps,
    );
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const headers = { host: DOMAIN, 'user-agent': BROWSER };
    for (const method of ['GET', 'HEAD'] as const) {
      const bytes = `${method} /${key} HTTP/1.1\r\nHost: ${DOMAIN}\r\nConnection: close\r\n\r\n`;
      expect(await exchange(port, bytes)).toMatch(/^HTTP\/1\.1 302/);
      // Sent without a socket, as requests of the tracing tests are.
      expect((await app.inject({ method, url: `/${key}`, headers })).statusCode).toBe(302);
    }
    const form = await app.inject({
      method: 'POST',
      url: `/${locked.key}`,
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'password=x',
    });
    expect(form.statusCode).toBe(303);
    for (const method of ['POST', 'OPTIONS'] as const) {
      const refused = await app.inject({ method, url: '/track/click', headers });
      expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([403, '*']);
    }
    await app.close();
  });

  it('handles requests that no browser sends', async () => {
    const ask = (target: string) =>
      exchange(
        port,
        `GET ${target} HTTP/1.1\r\nHost: ${DOMAIN}\r\nUser-Agent: ${BROWSER}\r\nConnection: close\r\n\r\n`,
      );
    expect(await ask('/%c3%28')).toMatch(/^HTTP\/1\.1 404/);
    expect(await ask('/%')).toMatch(/^HTTP\/1\.1 404/);
    expect(await ask('*')).toMatch(/^HTTP\/1\.1 4/);
    for (const method of METHODS.filter((one) => !['CONNECT', 'GET', 'HEAD', 'POST'].includes(one))) {
      for (const target of ['/', '/known', '/track/click']) {
        const answer = await exchange(
          port,
          `${method} ${target} HTTP/1.1\r\nHost: ${DOMAIN}\r\nConnection: close\r\n\r\n`,
        );
        expect([method, target, answer.slice(0, 12)]).toEqual([method, target, expect.stringMatching(/ (?:204|404)$/)]);
      }
    }

    const { key } = await ingest.link({ key: 'raw/é', url: 'https://acme.com/raw' });
    expect(key).toBe('raw/xn--9ca');
    expect(await ask(`http://${DOMAIN}/raw/%C3%A9`)).toContain('location: https://acme.com/raw\r\n');
    expect(await ask(`http://other.test/raw/%C3%A9`)).toMatch(/^HTTP\/1\.1 404/);
    expect(await ask(`http://${DOMAIN}/analytics/script.js`)).toContain('content-type: text/javascript');
    const image = `data:image/png;base64,${Buffer.from('image').toString('base64')}`;
    const shown = await ingest.link({ proxy: true, title: 'A preview', image });
    expect(await ask(`http://${DOMAIN}/_image/${shown.key}`)).toContain('content-type: image/png');
    expect(await ask(`http://other.test/_image/${shown.key}`)).toMatch(/^HTTP\/1\.1 404/);
    // Node's parser accepts only ASCII in a target.
    expect(await ask('/raw/é?q=é')).toMatch(/^HTTP\/1\.1 400/);
    for (const between of ['', 'a:\r\n'.repeat(2000)]) {
      expect(await ask(`/raw/%C3%A9 HTTP/1.1\r\nHost: other.test\r\n${between}X-A: b`)).toMatch(/^HTTP\/1\.1 400/);
    }
    expect(await ask('/analytics/script.js HTTP/1.1\r\nHost: other.test\r\nX-A: b')).toMatch(/^HTTP\/1\.1 400/);
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 10\r\nConnection: close';
    const hosts = `Host: ${DOMAIN}\r\nHost: other.test`;
    const posted = await exchange(port, `POST /${key} HTTP/1.1\r\n${hosts}\r\n${form}\r\n\r\npassword=x`);
    expect(posted).toMatch(/^HTTP\/1\.1 400/);
  });

  it('a host that looks like another host’s link does not replace that link in the cache', async () => {
    await ingest.link({ key: 'under/taken', url: 'https://acme.com/kept' });
    for (let time = 0; time < 2; time++) {
      expect((await ingest.visit('/taken', { host: `${DOMAIN}/under` })).statusCode).toBe(404);
      expect((await ingest.visit('/under/taken')).headers.location).toBe('https://acme.com/kept');
    }
  });
});

describe('cookies', () => {
  const variants = [
    { url: 'https://acme.com/a', percentage: 50 },
    { url: 'https://acme.com/b', percentage: 50 },
  ];

  /** The `Set-Cookie` headers of a response. */
  async function cookiesOf(head: string, proto: string | undefined, body = ''): Promise<string[]> {
    const lines = [
      `${head} HTTP/1.1`,
      `Host: ${DOMAIN}`,
      `User-Agent: ${BROWSER}`,
      'Connection: close',
      ...(proto === undefined ? [] : [`X-Forwarded-Proto: ${proto}`]),
      ...(body === '' ? [] : ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`]),
    ];
    const text = await exchange(port, `${lines.join('\r\n')}\r\n\r\n${body}`);
    return [...text.matchAll(/^set-cookie: (.*)\r$/gim)].map(([, cookie = '']) => cookie);
  }

  it.each([
    ['https', true],
    ['http, https', true],
    ['http', false],
    ['https, http', false],
    [undefined, false],
  ])('are Secure exactly when the trusted proxy reports HTTPS: %s', async (proto, isSecure) => {
    const testCompletedAt = new Date(Date.now() + 3_600_000).toISOString();
    const { key } = await ingest.link({ password: 'x', testVariants: variants, testCompletedAt });
    const cookies = [
      ...(await cookiesOf(`POST /${key}`, proto, 'password=x')),
      ...(await cookiesOf(`GET /${key}?pw=x`, proto)),
      ...(await cookiesOf('GET /', proto)),
    ];
    const names = ['dub_password_link_', `dub_id_${DOMAIN}_${key}=`, 'dub_test_url=', `dub_id_${DOMAIN}__root=`];
    expect(cookies.map((cookie, index) => cookie.startsWith(names[index]!))).toEqual(Array(4).fill(true));
    expect(cookies.map((cookie) => cookie.split('; ').includes('Secure'))).toEqual(Array(4).fill(isSecure));
  });
});
