import type { LinkRecord } from '@waymark/catalog';
import { eventIdTime, parseResourceId } from '@waymark/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/admission.js';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

const visit: TestIngest['visit'] = (...request) => ingest.visit(...request);

const numberOf = (link: LinkRecord) => parseResourceId('link', link.id);
const clickIdOf = (location: unknown) => new URL(String(location)).searchParams.get('dub_id');

describe('redirect', () => {
  it('answers 302 with the destination, not cacheable and not indexed', async () => {
    const { key } = await ingest.link({ url: 'https://acme.com/?flag&a=%2F' });
    const answer = await visit(`/${key}`);
    expect(answer.statusCode).toBe(302);
    expect(answer.headers.location).toBe('https://acme.com/?flag&a=%2F');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['x-robots-tag']).toBe('googlebot: noindex');
    expect(answer.body).toBe('');
  });

  it('finds the link by host without www, port and case, and by key in any case', async () => {
    await ingest.link({ key: 'Case/Of-Words', url: 'https://acme.com/case' });
    for (const host of [DOMAIN, `www.${DOMAIN}`, `${DOMAIN.toUpperCase()}:3001`]) {
      for (const path of ['/Case/Of-Words', '/case/of-words', '/case%2Fof-words/']) {
        expect((await visit(path, { host })).headers.location).toBe('https://acme.com/case');
      }
    }
    expect((await visit('/case/of-words', { host: 'other.com' })).statusCode).toBe(404);
  });

  it('finds keys in any script', async () => {
    await ingest.link({ key: 'café/日本', url: 'https://acme.com/jp' });
    expect((await visit(`/${encodeURI('café/日本')}`)).headers.location).toBe('https://acme.com/jp');
    expect((await visit(`/${encodeURI('CAFÉ/日本')}`)).headers.location).toBe('https://acme.com/jp');
  });

  it('finds keys of dub, which encodes the parts between full stops together with their slashes', async () => {
    await ingest.link({ key: 'xn--blog/mnchen-yhb', url: 'https://acme.com/muc' });
    for (const path of ['/xn--blog/mnchen-yhb', '/blog/m%C3%BCnchen', '/BLOG/M%C3%9CNCHEN/', '/blog/xn--mnchen-3ya'])
      expect((await visit(path)).headers.location).toBe('https://acme.com/muc');
    expect((await visit('/blog/m%C3%BCnster')).statusCode).toBe(404);
  });

  it('passes the click id only when conversions are tracked, and sets the cookie in any case', async () => {
    const plain = await ingest.link({ key: 'plain' });
    const tracked = await ingest.link({ key: 'tracked/one', trackConversion: true });
    const plainAnswer = await visit(`/${plain.key}`);
    expect(plainAnswer.headers.location).toBe('https://acme.com/pricing');
    expect(plainAnswer.headers['set-cookie']).toMatch(
      /^dub_id_go\.acme\.com_plain=[0-9A-Za-z]{16}; Path=\/plain; Max-Age=3600;/,
    );

    const before = Date.now();
    const answer = await visit(`/${tracked.key}`);
    const clickId = clickIdOf(answer.headers.location);
    expect(eventIdTime(clickId ?? '')).toBeGreaterThanOrEqual(before);
    expect(answer.headers['set-cookie']).toContain(`dub_id_go.acme.com_tracked/one=${clickId}; Path=/tracked/one;`);
  });

  it('returns the same click for the same visitor and link for an hour', async () => {
    const first = await ingest.link({ trackConversion: true });
    const second = await ingest.link({ trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.100.1' };
    const clickId = clickIdOf((await visit(`/${first.key}`, me)).headers.location);
    expect(clickIdOf((await visit(`/${first.key}`, me)).headers.location)).toBe(clickId);
    expect(clickIdOf((await visit(`/${second.key}`, me)).headers.location)).not.toBe(clickId);
    expect(
      clickIdOf((await visit(`/${first.key}`, { ...me, 'user-agent': `${BROWSER} x` })).headers.location),
    ).not.toBe(clickId);
    const forged = { cookie: `dub_id_${DOMAIN}_${first.key}=${clickId}` };
    expect(clickIdOf((await visit(`/${first.key}`, forged)).headers.location)).not.toBe(clickId);
  });

  it('counts a visitor for the link, not for its address', async () => {
    const { id, key } = await ingest.link({ trackConversion: true });
    const me = { 'x-forwarded-for': '198.51.100.2' };
    const clickAt = async (at: string) => clickIdOf((await visit(`/${at}`, me)).headers.location);
    const clickId = await clickAt(key);
    await ingest.catalog.links.update(ingest.workspaceId, id, (link) => ({ ...link, key: `${key}-moved` }));
    expect(await clickAt(`${key}-moved`)).toBe(clickId);
    const next = await ingest.link({ key, trackConversion: true });
    const nextClickId = await clickAt(key);
    expect(nextClickId).not.toBe(clickId);
    await ingest.catalog.links.removeMany(ingest.workspaceId, [next.id]);
    await ingest.link({ key, trackConversion: true });
    expect(await clickAt(key)).not.toBe(nextClickId);
  });

  it('adds via on partner links, which pass the click id as well', async () => {
    const link = await ingest.link({ key: 'ada', programId: 'prog_1', partnerId: 'pn_1' });
    const location = (await visit(`/${link.key}`)).headers.location;
    expect(location).toMatch(/^https:\/\/acme\.com\/pricing\?via=ada&dub_id=[0-9A-Za-z]{16}$/);
  });

  it('follows redir_url on the destination’s own host only', async () => {
    const { key } = await ingest.link();
    const to = async (url: string) =>
      (await visit(`/${key}?redir_url=${encodeURIComponent(url)}&x=1`)).headers.location;
    expect(await to('https://acme.com/other')).toBe('https://acme.com/other?x=1');
    expect(await to('https://evil.com/')).toBe('https://acme.com/pricing?x=1');
  });

  it('answers 301 for the root link of a domain, also not cacheable', async () => {
    const { workspace } = await ingest.catalog.workspaces.create({
      name: 'Root',
      slug: 'root',
      plan: 'enterprise',
      domain: 'root.test',
    });
    const placeholder = await visit('/', { host: 'root.test' });
    expect(placeholder.statusCode).toBe(200);
    expect(placeholder.headers['content-type']).toContain('text/html');
    expect(placeholder.headers['set-cookie']).toContain('dub_id_root.test__root=');
    const root = await ingest.catalog.links.findByAddress('root.test', '_root');
    await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(root!) });
    await ingest.catalog.links.update(workspace.id, root!.id, (record) => ({ ...record, url: 'https://root.com/' }));
    const answer = await visit('/?a=1', { host: 'root.test' });
    expect(answer.statusCode).toBe(301);
    expect(answer.headers).toMatchObject({ location: 'https://root.com/?a=1', 'cache-control': 'no-store' });
  });

  it('lets search engines index links with doIndex', async () => {
    const { key } = await ingest.link({ doIndex: true });
    expect((await visit(`/${key}`)).headers['x-robots-tag']).toBeUndefined();
  });

  it.each([
    ['bots', {}, { 'user-agent': 'curl/8' }, 'GET'],
    ['agents that say nothing', {}, { 'user-agent': '' }, 'GET'],
    ['HEAD', {}, {}, 'HEAD'],
    ['?bot=', { bot: '1' }, {}, 'GET'],
    ['prefetching browsers', {}, { 'sec-purpose': 'prefetch' }, 'GET'],
  ] as const)(
    'redirects %s without recording a click, with a cookie that has no effect',
    async (_who, query, headers, method) => {
      const link = await ingest.link();
      const me = { 'x-forwarded-for': '198.51.100.2' };
      const answer = await visit(`/${link.key}?${new URLSearchParams(query)}`, { ...me, ...headers }, method);
      expect(answer.statusCode).toBe(302);
      const given = /^dub_id_go\.acme\.com_[^=]+=[0-9A-Za-z]{16}(?=; Path=)/.exec(String(answer.headers['set-cookie']));
      expect(given).not.toBeNull();

      // The same visitor without the bot marker is the first click.
      const second = await visit(`/${link.key}`, { ...me, cookie: String(given?.[0]) });
      const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
      expect(second.headers['set-cookie']).toContain(`=${click?.click_id};`);
      expect(given?.[0]).not.toContain(click?.click_id);
    },
  );

  it('redirects a prefetch without a click id, because a browser may use that answer, and the visit itself with its own', async () => {
    const link = await ingest.link({ trackConversion: true, url: 'https://acme.com/a?b=1' });
    const me = { 'x-forwarded-for': '198.51.100.4' };
    for (const purpose of ['prefetch', 'prefetch;prerender']) {
      const answer = await visit(`/${link.key}?c=2`, { ...me, 'sec-purpose': purpose });
      expect([answer.statusCode, answer.headers.location]).toEqual([302, 'https://acme.com/a?b=1&c=2']);
    }
    const { location } = (await visit(`/${link.key}`, me)).headers;
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(location).toBe(`https://acme.com/a?b=1&dub_id=${click?.click_id}`);
  });

  it.each([
    ['a header', {}, { 'dub-no-track': '1' }],
    ['the query', { 'dub-no-track': '1' }, {}],
  ] as const)('sends on who asks not to be tracked in %s, without click and cookie', async (_where, query, headers) => {
    const link = await ingest.link();
    const me = { 'x-forwarded-for': '198.51.100.3' };
    const answer = await visit(`/${link.key}?${new URLSearchParams(query)}`, { ...me, ...headers });
    expect(answer.statusCode).toBe(302);
    expect(answer.headers['set-cookie']).toBeUndefined();
    const cookie = String((await visit(`/${link.key}`, me)).headers['set-cookie']);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(cookie).toContain(`=${click?.click_id};`);
  });

  it('sets its cookie for the visited path, so that the browser sends it back', async () => {
    await ingest.link({ key: 'Promo/café' });
    for (const [visited, path] of [
      ['/Promo/xn--caf-dma', '/Promo/xn--caf-dma'],
      ['/promo/caf%C3%A9', '/promo/caf%C3%A9'],
      ['/PROMO/CAF%c3%89/?a=1', '/PROMO/CAF%c3%89'],
      ['//promo/caf%C3%A9', '/promo/caf%C3%A9'],
    ] as const) {
      const answer = await visit(visited);
      expect(answer.statusCode).toBe(302);
      expect(answer.headers['set-cookie']).toContain(`; Path=${path}; Max-Age=3600; HttpOnly; SameSite=Lax`);
    }
  });

  it('records referer, destination and visitor of the click', async () => {
    const link = await ingest.link({ url: 'https://acme.com/?utm_source=a%20b', trackConversion: true });
    await visit(`/${link.key}?qr=1&x=y`, {
      'x-forwarded-for': '198.51.100.9',
      referer: 'https://www.news.example/page?session=1',
      'cf-ipcountry': 'US',
      'cf-region-code': 'TX',
      'cf-ipcity': 'San%20Antonio',
    });
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(click).toMatchObject({
      trigger: 'qr',
      country: 'US',
      region: 'TX',
      city: 'San Antonio',
      continent: 'NA',
      device: 'Desktop',
      browser: 'Chrome',
      os: 'Mac OS',
      referer: 'news.example',
      referer_url: 'https://www.news.example/page',
      url: 'https://acme.com/?utm_source=a%20b&x=y',
      url_base: 'https://acme.com/',
      utm_source: 'a b',
      ip: '198.51.100.9',
    });
    expect(eventIdTime(String(click?.click_id))).toBe(Date.parse(String(click?.timestamp)));
  });

  it('does not record the address of visitors from the EU', async () => {
    const link = await ingest.link();
    await visit(`/${link.key}`, { 'cf-ipcountry': 'DE' });
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(click).toMatchObject({ country: 'DE', ip: '' });
  });

  it('records a URL that is too long for a row cut off, and redirects to the complete one', async () => {
    const link = await ingest.link();
    const query = `a=1&b=${'x'.repeat(60_000)}`;
    const answer = await visit(`/${link.key}?${query}`);
    expect(answer.headers.location).toBe(`https://acme.com/pricing?${query}`);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    expect(click?.url).toBe('https://acme.com/pricing?a=1');
  });

  it('redirects while Redis is unavailable, and stores every click once it is back', async () => {
    const link = await ingest.link({ trackConversion: true });
    await visit(`/${link.key}`);
    await ingest.redis.kill9();
    const away = await Promise.all(Array.from({ length: 20 }, () => visit(`/${link.key}`)));
    await ingest.redis.restart();
    expect(away.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(302));
    const clicks = await ingest.rowsWhen(21, 'click_events', 'link_id = {link:UInt64}', { link: numberOf(link) });
    const ids = new Set(clicks.map((click) => click.click_id));
    for (const { headers } of away) expect(ids).toContain(clickIdOf(headers.location));
  });
});

describe('visits without a destination', () => {
  it.each([
    '/unknown',
    '/100%',
    '/%zz',
    '/%',
    '/%ff',
    '/a%00b',
    '/%E0%A4%A',
    `/${'x'.repeat(5000)}`,
    '/__proto__',
    '//',
  ])('%s is a 404 page or leads on, never a fault', async (path) => {
    const answer = await visit(path);
    expect([404, 200]).toContain(answer.statusCode);
    expect(answer.headers['content-type']).toContain('text/html');
  });

  it('a path longer than any key is a 404 page', async () => {
    expect((await visit(`/${'x'.repeat(5000)}`)).statusCode).toBe(404);
  });

  it('any path and host is answered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 40 }), fc.string({ maxLength: 10 }), async (path, query) => {
        // The injector parses a leading `//` as a host and rejects invalid ones itself.
        const target = `/${path.replace(/[\s\0]/g, '').replace(/^[/\\]+/, '')}?${query.replace(/[\s\0]/g, '')}`;
        const answer = await visit(/^[\x21-\x7e]*$/.test(target) ? target : '/');
        expect([200, 302, 404]).toContain(answer.statusCode);
      }),
      { numRuns: 50 },
    );
  });

  it('redirects vulnerability scanners to the domain, untracked', async () => {
    for (const path of ['/.well-known/security.txt', '/wp-login.php', '/x.php7', '/X.PHP/', '/.WELL-KNOWN/x']) {
      const answer = await visit(path);
      expect(answer.statusCode).toBe(302);
      expect(answer.headers.location).toBe('/?dub-no-track=1');
    }
  });

  it('uses the URLs and files that the domain has configured', async () => {
    const { workspace } = await ingest.catalog.workspaces.create({ name: 'Own', slug: 'own', plan: 'enterprise' });
    await ingest.catalog.domains.create(workspace.id, {
      slug: 'own.test',
      notFoundUrl: 'https://own.com/404',
      expiredUrl: 'https://own.com/expired',
      assetLinks: '[{"a":1}]',
    });
    const past = new Date(Date.now() - 1000).toISOString();
    await ingest.catalog.links.create(workspace.id, {
      domain: 'own.test',
      key: 'old',
      url: 'https://own.com/',
      expiresAt: past,
    });
    const on = (path: string) => visit(path, { host: 'own.test' });
    expect((await on('/nothing')).headers.location).toBe('https://own.com/404');
    // A link could have this key, but none has.
    expect((await on('/apple-touch-icon.png')).headers.location).toBe('https://own.com/404');
    for (const file of ['robots.txt', 'Robots.TXT', 'favicon.ico?v=2', 'sitemap.xml', 'manifest.json']) {
      const answer = await on(`/${file}`);
      expect([answer.statusCode, answer.headers.location]).toEqual([404, undefined]);
    }
    expect((await on('/old')).headers.location).toBe('https://own.com/expired');
    expect((await on('/.well-known/assetlinks.json')).json()).toEqual([{ a: 1 }]);
    expect((await on('/.well-known/apple-app-site-association')).statusCode).toBe(404);
  });

  it('shows the page instead of a redirect to the visited address itself, which would never end', async () => {
    const { catalog } = ingest;
    const { workspace } = await catalog.workspaces.create({ name: 'Loop', slug: 'loop', plan: 'enterprise' });
    const own = 'https://loop.test';
    const domain = await catalog.domains.create(workspace.id, { slug: 'loop.test', notFoundUrl: `${own}/?from=404` });
    const past = new Date(Date.now() - 1000).toISOString();
    const over = { domain: 'loop.test', url: 'https://acme.com/', expiresAt: past };
    await catalog.links.create(workspace.id, { ...over, key: 'Früher', expiredUrl: `${own}/fr%C3%BCher?x=1` });
    await catalog.links.create(workspace.id, { ...over, key: 'over' });
    const on = async (path: string, host = 'loop.test') => {
      const { statusCode, headers } = await visit(path, { host });
      return [statusCode, headers.location];
    };
    expect(await on('/nothing')).toEqual([302, `${own}/?from=404`]);
    expect(await on('/')).toEqual([200, undefined]);
    expect([await on('/fr%C3%BCher'), await on('/FR%C3%9CHER/')]).toEqual(Array(2).fill([410, undefined]));
    // On another host or port, another server may answer.
    expect(await on('/fr%C3%BCher', 'www.loop.test')).toEqual([302, `${own}/fr%C3%BCher?x=1`]);
    expect(await on('/fr%C3%BCher', 'loop.test:3001')).toEqual([302, `${own}/fr%C3%BCher?x=1`]);

    const changes = { archived: true, expiredUrl: `${own}/over`, notFoundUrl: `${own}/` };
    await catalog.domains.update(workspace.id, domain.id, { ...changes, archived: false });
    expect(await on('/over')).toEqual([410, undefined]);
    await catalog.domains.update(workspace.id, domain.id, changes);
    expect([await on('/over'), await on('/'), await on('/?a=1')]).toEqual([
      [302, `${own}/`],
      [404, undefined],
      [404, undefined],
    ]);
  });

  it('a link of an archived domain answers 404, except on the default domain, which is shared', async () => {
    const { catalog } = ingest;
    const { workspace } = await catalog.workspaces.create({ name: 'Shelf', slug: 'shelf', plan: 'enterprise' });
    const { slug } = await catalog.domains.create(workspace.id, { slug: 'shelf.test', archived: true });
    const link = await catalog.links.create(workspace.id, { domain: slug, key: 'kept', url: 'https://acme.com/' });
    expect((await visit('/kept', { host: slug })).statusCode).toBe(404);
    const passwords = { unlock: () => expect.fail('it has no password') };
    const isOpen = (defaultDomain: string | undefined) =>
      createAdmission({ catalog, passwords, defaultDomain, now: Date.now }).isOpen(link);
    expect([await isOpen(undefined), await isOpen(slug)]).toEqual([false, true]);
  });

  it('a disabled link answers 404', async () => {
    const { key } = await ingest.link({ disabledAt: new Date().toISOString() });
    expect((await visit(`/${key}`)).statusCode).toBe(404);
  });

  it('an expired link redirects to its expiredUrl, else shows the expired page', async () => {
    const past = new Date(Date.now() - 1000).toISOString();
    const future = new Date(Date.now() + 60_000).toISOString();
    const withUrl = await ingest.link({ expiresAt: past, expiredUrl: 'https://acme.com/over' });
    const without = await ingest.link({ expiresAt: past });
    const alive = await ingest.link({ expiresAt: future });
    expect((await visit(`/${withUrl.key}`)).headers.location).toBe('https://acme.com/over');
    expect((await visit(`/${without.key}`)).statusCode).toBe(410);
    expect((await visit(`/${alive.key}`)).statusCode).toBe(302);
  });

  it('a link with a password opens only with it, and does not forward it', async () => {
    const { key } = await ingest.link({ password: 'sésame' });
    for (const query of ['', '?pw=', '?pw=wrong', '?pw=s%C3%A9same2', '?dub-no-track=1']) {
      const answer = await visit(`/${key}${query}`);
      expect(answer.statusCode).toBe(401);
      expect(answer.headers.location).toBeUndefined();
      expect(answer.body).not.toContain('acme.com');
    }
    const answer = await visit(`/${key}?pw=s%C3%A9same&a=1`);
    expect(answer.headers.location).toBe('https://acme.com/pricing?a=1');
  });
});
