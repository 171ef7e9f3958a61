import type { LinkRecord } from '@waymark/catalog';
import { createResourceId, parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

let visitors = 0;

function report(what: 'click' | 'open' | 'visit', body: unknown, headers: Record<string, string> = {}, query = '') {
  visitors += 1;
  return ingest.linkApp.inject({
    method: 'POST',
    url: `/track/${what}${query}`,
    headers: { 'user-agent': BROWSER, 'x-forwarded-for': `198.51.100.${visitors}`, ...headers },
    payload: body as object,
  });
}

const clicksOf = (link: LinkRecord, count: number) =>
  ingest.rowsWhen(count, 'click_events', 'link_id = {id:UInt64}', { id: parseResourceId('link', link.id) });

describe('POST /track/visit', () => {
  it('records a page view as a click on the page’s link', async () => {
    const link = await ingest.link({ key: 'blog/Post', url: 'https://go.acme.com/blog/Post' });
    const answer = await report('visit', {
      domain: `https://www.${DOMAIN}`,
      url: 'https://go.acme.com/blog/post?utm_source=mail&dub_id=abc#top',
      referrer: 'https://www.news.example/a',
    });
    expect(answer.statusCode).toBe(200);
    const { clickId } = answer.json<{ clickId: string }>();
    expect(answer.json()).toEqual({ clickId });
    expect(await clicksOf(link, 1)).toMatchObject([
      {
        click_id: clickId,
        trigger: 'pageview',
        url: 'https://go.acme.com/blog/post?utm_source=mail#top',
        utm_source: 'mail',
        referer: 'news.example',
      },
    ]);
  });

  it.each([
    ['', '(direct)', '(direct)'],
    ['https://www.news.example/a', 'news.example', 'https://www.news.example/a'],
    [null, 'go.acme.com', 'https://go.acme.com/'],
    [undefined, 'go.acme.com', 'https://go.acme.com/'],
  ])('takes the referrer %j of the body, and that of the request without one', async (referrer, host, url) => {
    const link = await ingest.link();
    const body = { domain: DOMAIN, key: link.key, url: `https://${DOMAIN}/${link.key}`, referrer };
    // A browser sends the page itself.
    for (const what of ['click', 'visit'] as const) await report(what, body, { referer: 'https://go.acme.com/' });
    const clicks = await clicksOf(link, 2);
    for (const click of clicks) expect(click).toMatchObject({ referer: host, referer_url: url });
  });

  it('uses the root link for the empty path, and counts a visitor once an hour', async () => {
    const root = await ingest.catalog.links.findByAddress(DOMAIN, '_root');
    const me = { 'x-forwarded-for': '198.51.101.1' };
    const body = { domain: DOMAIN, url: `https://${DOMAIN}/?a=1` };
    const first = await report('visit', body, me);
    expect((await report('visit', body, me)).json()).toEqual(first.json());
    await clicksOf(root!, 1);
  });

  it.each([
    [{ domain: DOMAIN }, 400],
    [{ url: 'https://go.acme.com/' }, 400],
    [{ domain: DOMAIN, url: 'no url' }, 422],
    [{ domain: DOMAIN, url: 'https://go.acme.com/absent' }, 404],
    [{ domain: DOMAIN, url: 'https://go.acme.com/%00' }, 404],
    [{ domain: 'other.test', url: 'https://go.acme.com/' }, 404],
    [{ domain: DOMAIN, url: 'mailto:x' }, 404],
  ])('refuses %j with %i, open to other origins', async (body, status) => {
    const answer = await report('visit', body);
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  it('is rejected from pages that are not allowed', async () => {
    const link = await ingest.link();
    await ingest.catalog.workspaces.update(ingest.workspaceId, { allowedHostnames: ['acme.com'] });
    const body = { domain: DOMAIN, url: `https://${DOMAIN}/${link.key}` };
    expect((await report('visit', body, { origin: 'https://evil.com' })).statusCode).toBe(403);
    expect((await report('visit', body, { origin: 'https://acme.com' })).statusCode).toBe(200);
    await ingest.catalog.workspaces.update(ingest.workspaceId, { allowedHostnames: [] });
  });
});

describe('POST /track/open', () => {
  it('records a deep link that opened an app, with any user agent, and returns the link', async () => {
    const link = await ingest.link({ key: 'app/Home', url: 'https://acme.com/home' });
    const answer = await report(
      'open',
      { deepLink: `https://${DOMAIN}/app/home?x=1` },
      { 'user-agent': 'AcmeApp/1 CFNetwork/1 http-client' },
    );
    expect(answer.statusCode).toBe(200);
    const { clickId } = answer.json<{ clickId: string }>();
    expect(answer.json()).toEqual({
      clickId,
      link: { id: link.id, domain: DOMAIN, key: 'app/Home', url: 'https://acme.com/home' },
    });
    expect(await clicksOf(link, 1)).toMatchObject([{ click_id: clickId, trigger: 'deeplink' }]);
  });

  it('returns the visitor’s click of the last hour', async () => {
    const link = await ingest.link({ trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.101.2' };
    const clickId = await ingest.click(link, me);
    const answer = await report('open', { deepLink: `https://${DOMAIN}/${link.key}` }, me);
    expect(answer.json()).toMatchObject({ clickId });
    await clicksOf(link, 1);
  });

  it('finds the click that led to the app store, by domain and address only', async () => {
    const link = await ingest.link({ ios: 'https://apps.apple.com/app/id1', trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.101.3' };
    const clickId = await ingest.click(link, { ...me, 'user-agent': IPHONE });
    const found = await waitFor(
      async () => {
        const answer = await report('open', { dubDomain: DOMAIN }, { ...me, 'user-agent': 'AcmeApp/1' });
        return answer.json<{ clickId: string | null }>().clickId !== null && answer;
      },
      { what: 'the click to the app store' },
    );
    expect(found.json()).toEqual({
      clickId,
      link: { id: link.id, domain: DOMAIN, key: link.key, url: 'https://acme.com/pricing' },
    });
    const nothing = { clickId: null, link: null };
    expect((await report('open', { dubDomain: DOMAIN })).json()).toEqual(nothing);
    expect((await report('open', { dubDomain: 'other.test' }, me)).json()).toEqual(nothing);
    const keys = await ingest.redisClient.keys('waymark:app-open:*');
    expect(keys).toHaveLength(1);
    expect(keys[0]).not.toContain('198.51.101.3');
    // Later, another person may have the address.
    const leftMs = await ingest.redisClient.pttl(keys[0] ?? '');
    expect(leftMs).toBeLessThanOrEqual(3_600_000);
    expect(leftMs).toBeGreaterThan(3_500_000);
  });

  it('does not answer a click to the app store that an erasure deletes', async () => {
    const { catalog, workspaceId } = ingest;
    const link = await ingest.link({ ios: 'https://apps.apple.com/app/id3', trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.101.21' };
    const clickId = await ingest.click(link, { ...me, 'user-agent': IPHONE });
    const opened = async () => (await report('open', { dubDomain: DOMAIN }, me)).json<{ clickId: string | null }>();
    await waitFor(async () => (await opened()).clickId === clickId, { what: 'the click to the app store' });
    const erasure = await catalog.erasures.accept(workspaceId, { externalId: 'deleted', customerIds: [] }, 'delete');
    await catalog.erasures.addFound(erasure, { clickIds: [clickId] });
    await waitFor(() => catalog.erasures.people.peek()?.modeOfClickId(workspaceId, clickId), { what: 'the erasure' });
    expect(await opened()).toEqual({ clickId: null, link: null });
  });

  it.each([
    ['an empty domain', { dubDomain: '' }],
    ['no domain', { dubDomain: null }],
  ])('reads the deep link beside %s', async (_what, fields) => {
    const link = await ingest.link();
    const answer = await report('open', { deepLink: `https://${DOMAIN}/${link.key}`, ...fields });
    expect([answer.statusCode, answer.json()]).toMatchObject([200, { link: { id: link.id } }]);
  });

  it('reads the domain beside an empty deep link', async () => {
    const link = await ingest.link({ ios: 'https://apps.apple.com/app/id2', trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.101.20' };
    const clickId = await ingest.click(link, { ...me, 'user-agent': IPHONE });
    const body = { deepLink: '', dubDomain: DOMAIN };
    expect((await report('open', body, me)).statusCode).toBe(200);
    await waitFor(async () => (await report('open', body, me)).json<{ clickId: string | null }>().clickId === clickId, {
      what: 'the click to the app store',
    });
  });

  it.each([
    [{}, 422],
    [{ deepLink: '' }, 422],
    [{ deepLink: '', dubDomain: '' }, 422],
    [{ deepLink: ' ', dubDomain: DOMAIN }, 422],
    [{ deepLink: 'no url' }, 422],
    [{ deepLink: 7 }, 400],
    [{ deepLink: `https://${DOMAIN}/absent` }, 404],
    [{ deepLink: 'myapp://nothing' }, 404],
  ])('refuses %j with %i, open to other origins', async (body, status) => {
    const answer = await report('open', body);
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  it('preflights are answered on both ports', async () => {
    for (const app of [ingest.linkApp, ingest.trackApp]) {
      for (const what of ['open', 'visit']) {
        const answer = await app.inject({ method: 'OPTIONS', url: `/track/${what}` });
        expect([answer.statusCode, answer.body, answer.headers['access-control-allow-origin']]).toEqual([204, '', '*']);
      }
    }
  });
});

describe('domains with a port', () => {
  const HOST = 'localhost:3001';
  let workspaceId: string;
  beforeAll(async () => {
    const { workspace } = await ingest.catalog.workspaces.create({
      ...{ name: 'Local', slug: 'local', plan: 'enterprise', domain: HOST },
    });
    workspaceId = workspace.id;
  });
  const aLink = (key: string, fields: object = {}) =>
    ingest.catalog.links.create(workspaceId, { domain: HOST, key, url: 'https://acme.com/local', ...fields });

  it('are found under that name by reports, as by visits', async () => {
    const link = await aLink('Ported');
    const me = { 'x-forwarded-for': '198.51.101.4' };
    const visited = await ingest.visit('/ported', { ...me, host: HOST });
    expect(visited.headers.location).toBe('https://acme.com/local');
    const reports = [
      await report('click', { domain: HOST, key: 'ported' }, me),
      await report('click', { domain: `http://www.${HOST}/any`, key: 'Ported' }, me),
      await report('visit', { domain: HOST, url: `http://${HOST}/ported?a=1` }, me),
      await report('open', { deepLink: `http://${HOST}/ported` }, me),
    ];
    const [click] = await clicksOf(link, 1);
    for (const answer of reports) expect(answer.json()).toMatchObject({ clickId: click?.click_id });
    expect((await report('click', { domain: 'localhost:3002', key: 'ported' }, me)).statusCode).toBe(404);
    expect((await report('click', { domain: 'localhost', key: 'ported' }, me)).statusCode).toBe(404);
  });

  it('are looked up with the port for app store clicks, other domains without it', async () => {
    await aLink('store', { ios: 'https://apps.apple.com/app/id2', trackConversion: true });
    const plain = await ingest.link({ ios: 'https://apps.apple.com/app/id3', trackConversion: true });
    for (const [host, key, address, dubDomain] of [
      [HOST, 'store', '198.51.101.5', HOST],
      [`${DOMAIN}:8443`, plain.key, '198.51.101.6', `${DOMAIN}:8443`],
      [DOMAIN, plain.key, '198.51.101.7', `https://${DOMAIN}:8443/`],
    ] as const) {
      const me = { 'x-forwarded-for': address };
      const { location } = (await ingest.visit(`/${key}`, { ...me, host, 'user-agent': IPHONE })).headers;
      const clickId = new URL(String(location)).searchParams.get('dub_id');
      const open = async () => (await report('open', { dubDomain }, me)).json<{ clickId: string | null }>().clickId;
      expect(await waitFor(open, { what: 'the click to the app store' })).toBe(clickId);
    }
  });
});

describe('clicks on links of partners', () => {
  it('include the partner', async () => {
    const { catalog, workspaceId } = ingest;
    const programId = createResourceId('program', Date.now());
    const partner = await catalog.partners.create(workspaceId, {
      name: 'Ada',
      email: 'ada@example.com',
      image: 'https://cdn.acme.com/ada.png',
      tenantId: 'tenant-1',
      programId,
    });
    const link = await ingest.link({ programId, partnerId: partner.id });
    const answer = await report('click', { domain: DOMAIN, key: link.key });
    expect(answer.json()).toEqual({
      clickId: expect.stringMatching(/^[0-9A-Za-z]{16}$/),
      partner: { id: partner.id, name: 'Ada', image: 'https://cdn.acme.com/ada.png', tenantId: 'tenant-1' },
      discount: null,
    });
    const prerendered = await report(
      'click',
      { domain: DOMAIN, key: link.key },
      { 'sec-purpose': 'prefetch;prerender' },
    );
    expect(prerendered.json()).toEqual({ clickId: '' });
  });

  it.each([
    ['the username', 'ada-l', 'ada-l'],
    ['the part before the @', null, 'Ada.Lovelace'],
  ])('name a partner without a name by %s, and not by the email address', async (_what, username, name) => {
    const { catalog, workspaceId } = ingest;
    const programId = createResourceId('program', Date.now());
    const email = `Ada.Lovelace@${username ?? 'none'}.private.example`;
    // As enrolment stores it.
    const partner = await catalog.partners.create(workspaceId, { name: email, email, username, programId });
    const link = await ingest.link({ programId, partnerId: partner.id });
    const answer = await report('click', { domain: DOMAIN, key: link.key });
    expect(answer.json()).toMatchObject({ partner: { id: partner.id, name } });
    expect(answer.body).not.toContain('private.example');
  });
});
