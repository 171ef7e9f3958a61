import { expect, it } from 'vitest';
import type { HttpAnswer, HttpRequest } from '../../src/demo/http-client.js';
import { createTraffic } from '../../src/demo/traffic.js';
import { runCommand } from '../run-cli.js';

const answer = (status: number, rest: Partial<HttpAnswer>): HttpAnswer => ({
  status,
  location: undefined,
  retryAfter: undefined,
  body: '{}',
  ...rest,
});

function trafficTo(send: (request: HttpRequest) => Promise<HttpAnswer>, now: () => number) {
  return createTraffic({
    http: { send, close: async () => {} },
    api: 'http://api.test',
    links: 'http://links.test',
    domain: 'go.test',
    apiKey: 'key',
    clicksPerSecond: 200,
    seconds: 0.3,
    now,
  });
}

it('visits are sent for the whole time, however long the creation of the links took', async () => {
  let creationMs = 0;
  const visitedAt: number[] = [];
  const now = () => Date.now() + creationMs;
  async function send({ url }: HttpRequest): Promise<HttpAnswer> {
    if (url.pathname === '/links') {
      creationMs += 60_000;
      return answer(200, { body: '{"key":"a"}' });
    }
    if (url.pathname.startsWith('/track/')) return answer(200, {});
    visitedAt.push(now());
    return answer(302, { location: 'https://example.com/?dub_id=abc' });
  }
  const traffic = trafficTo(send, now);
  expect(traffic.share()).toBe(0);
  await traffic.run(new AbortController().signal);
  expect(traffic.totals).toMatchObject({ links: 12, refused: 0, clicks: visitedAt.length });
  expect(visitedAt.length).toBeGreaterThan(0);
  expect(traffic.share()).toBe(1);
});

it('a visit is sent again after Retry-After, and counted as refused only when it still fails', async () => {
  const visits = new Map<string, number>();
  async function send({ url, headers }: HttpRequest): Promise<HttpAnswer> {
    if (url.pathname === '/links') return answer(200, { body: '{"key":"a"}' });
    if (url.pathname.startsWith('/track/')) return answer(200, {});
    const visitor = JSON.stringify(headers);
    const attempts = (visits.get(visitor) ?? 0) + 1;
    visits.set(visitor, attempts);
    if (attempts === 1) return answer(503, { retryAfter: 0.001 });
    return answer(302, { location: 'https://example.com/?dub_id=abc' });
  }
  const traffic = trafficTo(send, Date.now);
  await traffic.run(new AbortController().signal);
  expect(traffic.totals.clicks).toBeGreaterThan(0);
  expect(traffic.totals).toMatchObject({ refused: 0 });
});

it.each([
  ['api', 'demo'],
  ['links', 'demo'],
  ['api', 'status'],
  ['api', 'tail'],
  ['api', 'export', 'events'],
])('an address that is no URL is refused with a reason: --%s 20 of %s', async (option, ...command) => {
  const { code, stderr } = await runCommand({}, ...command, `--${option}`, '20');
  expect([code, stderr]).toEqual([1, `waymark: --${option} must be a URL, such as https://acme.com\n`]);
});
