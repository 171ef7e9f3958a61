import type { AddressInfo } from 'node:net';
import type { LinkRecord } from '@waymark/catalog';
import { eventIdTime, parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

const numberOf = (link: LinkRecord) => parseResourceId('link', link.id);
let visitors = 0;

function track(body: unknown, headers: Record<string, string> = {}, query = '') {
  visitors += 1;
  return ingest.linkApp.inject({
    method: 'POST',
    url: `/track/click${query}`,
    headers: { 'user-agent': BROWSER, 'x-forwarded-for': `198.51.100.${visitors}`, ...headers },
    payload: body as object,
  });
}

describe('POST /track/click', () => {
  it('records a click of the link, with the page as its destination and the referrer', async () => {
    const link = await ingest.link();
    const answer = await track(
      {
        domain: DOMAIN,
        key: link.key,
        url: 'https://acme.com/landing?a=1&dub_id=old',
        referrer: 'https://www.news.example/x',
      },
      { referer: 'https://acme.com/landing', 'cf-ipcountry': 'US' },
    );
    expect(answer.statusCode).toBe(200);
    const { clickId } = answer.json<{ clickId: string }>();
    expect(answer.json()).toEqual({ clickId });
    expect(eventIdTime(clickId)).toBeGreaterThan(Date.now() - 60_000);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(click).toMatchObject({
      click_id: clickId,
      trigger: 'link',
      url: 'https://acme.com/landing?a=1',
      referer: 'news.example',
      country: 'US',
    });
  });

  it('works on the API port as well, without a key, and accepts a URL as domain and any case of a key', async () => {
    const link = await ingest.link({ key: 'Some/Key' });
    const answer = await ingest.trackApp.inject({
      method: 'POST',
      url: '/track/click',
      headers: { 'user-agent': BROWSER, 'x-forwarded-for': '198.51.100.250' },
      payload: { domain: `https://www.${DOMAIN}:443/x`, key: 'some/KEY', url: 'no url' },
    });
    expect(answer.statusCode).toBe(200);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(click?.url).toBe('https://acme.com/pricing');
  });

  it('is served on the link port’s socket beside the redirects', async () => {
    const { key } = await ingest.link();
    await ingest.linkApp.listen({ host: '127.0.0.1', port: 0 });
    const { port } = ingest.linkApp.server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/track/click`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': BROWSER },
      body: JSON.stringify({ domain: DOMAIN, key }),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect((await fetch(`http://127.0.0.1:${port}/track/click`, { redirect: 'manual' })).status).toBe(404);
  });

  it('returns the same click for a visitor for an hour, shared with redirects', async () => {
    const link = await ingest.link({ trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.100.251' };
    const clickId = await ingest.click(link, me);
    expect((await track({ domain: DOMAIN, key: link.key }, me)).json()).toEqual({ clickId });
    const other = (await track({ domain: DOMAIN, key: link.key })).json<{ clickId: string }>();
    expect(other.clickId).not.toBe(clickId);
    await ingest.rowsWhen(2, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
  });

  it('returns an id for bots and untracked visitors, and records nothing', async () => {
    const link = await ingest.link();
    const body = { domain: DOMAIN, key: link.key };
    for (const [headers, query] of [
      [{ 'user-agent': 'Googlebot' }, ''],
      [{ 'dub-no-track': '1' }, ''],
      [{}, '?dub-no-track=1'],
      [{}, '?bot=1'],
    ] as const) {
      const answer = await track(body, headers, query);
      expect(answer.json<{ clickId: string }>().clickId).toMatch(/^[0-9A-Za-z]{16}$/);
    }
    await track(body);
    await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
  });

  it('returns an empty id for a page that a browser prerenders, which would store it, and records nothing', async () => {
    const link = await ingest.link({ trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.100.249' };
    for (const purpose of ['prefetch;prerender', 'prefetch']) {
      const answer = await track({ domain: DOMAIN, key: link.key }, { ...me, 'sec-purpose': purpose });
      expect([answer.statusCode, answer.json()]).toEqual([200, { clickId: '' }]);
    }
    const clickId = (await track({ domain: DOMAIN, key: link.key }, me)).json<{ clickId: string }>().clickId;
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(click?.click_id).toBe(clickId);
  });

  it.each([
    [{}, 400, 'bad_request'],
    [undefined, 400, 'bad_request'],
    [{ domain: DOMAIN }, 400, 'bad_request'],
    [{ domain: DOMAIN, key: 7 }, 400, 'bad_request'],
    [{ domain: DOMAIN, key: '' }, 422, 'unprocessable_entity'],
    [{ domain: DOMAIN, key: 'absent' }, 404, 'not_found'],
    [{ domain: 'other.test', key: 'x' }, 404, 'not_found'],
    [{ domain: 'http://', key: 'x' }, 404, 'not_found'],
    [{ domain: DOMAIN, key: '\u0000\ud800' }, 404, 'not_found'],
  ])('refuses %j with %i, open to other origins', async (body, status, code) => {
    const answer = await track(body);
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code } });
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST, OPTIONS',
      'access-control-allow-headers': 'Content-Type, Authorization',
      'access-control-expose-headers': 'Retry-After, X-Request-Id',
    });
  });

  it('answers preflights with 204 and nothing else', async () => {
    for (const app of [ingest.linkApp, ingest.trackApp]) {
      const answer = await app.inject({ method: 'OPTIONS', url: '/track/click' });
      expect(answer.statusCode).toBe(204);
      expect(answer.body).toBe('');
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*', 'access-control-max-age': '7200' });
    }
  });

  it('answers 404 for a disabled link', async () => {
    const { key } = await ingest.link({ disabledAt: new Date().toISOString() });
    expect((await track({ domain: DOMAIN, key })).statusCode).toBe(404);
  });

  describe('with allowed hostnames', () => {
    beforeAll(() =>
      ingest.catalog.workspaces.update(ingest.workspaceId, {
        allowedHostnames: ['acme.com', '*.acme.org', 'localhost'],
      }),
    );
    afterAll(() => ingest.catalog.workspaces.update(ingest.workspaceId, { allowedHostnames: [] }));

    it.each([
      [{ referer: 'https://acme.com/page' }, 200],
      [{ referer: 'https://www.acme.com/page' }, 200],
      [{ referer: 'https://shop.acme.com/' }, 403],
      [{ referer: 'https://shop.acme.org/' }, 200],
      [{ referer: 'https://acme.org/' }, 403],
      [{ referer: 'https://www.acme.org/' }, 403],
      [{ referer: 'https://evilacme.org/' }, 403],
      [{ origin: 'http://localhost:3000' }, 200],
      [{ referer: 'https://evil.com/', origin: 'https://acme.com' }, 403],
      [{ referer: 'nonsense', origin: 'https://acme.com' }, 200],
      [{}, 403],
    ])('%j is answered with %i', async (headers, status) => {
      const link = await ingest.link();
      const answer = await track({ domain: DOMAIN, key: link.key }, headers as Record<string, string>);
      expect(answer.statusCode).toBe(status);
      if (status === 403) expect(answer.json()).toMatchObject({ error: { code: 'forbidden' } });
    });

    it('an already recorded click is returned on any page', async () => {
      const link = await ingest.link();
      const me = { 'x-forwarded-for': '198.51.100.252' };
      const body = { domain: DOMAIN, key: link.key };
      const first = await track(body, { ...me, referer: 'https://acme.com/' });
      const second = await track(body, { ...me, referer: 'https://evil.com/' });
      expect(second.json()).toEqual(first.json());
    });

    it.each<[string, Record<string, string>, string]>([
      ['a robot', { 'user-agent': 'Googlebot' }, ''],
      ['a robot by its parameter', {}, '?bot=1'],
      ['a visitor who is not to be tracked', { 'dub-no-track': '1' }, ''],
      ['a prerendered page', { 'sec-purpose': 'prefetch;prerender' }, ''],
    ])('%s is not refused on another page, as nothing is recorded', async (_who, headers, query) => {
      const { key } = await ingest.link();
      const answer = await track({ domain: DOMAIN, key }, { referer: 'https://evil.com/', ...headers }, query);
      expect(answer.statusCode).toBe(200);
    });
  });
});
