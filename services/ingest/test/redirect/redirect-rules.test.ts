import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BROWSER, startIngest, type TestIngest } from '../test-ingest.js';

const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';
const PIXEL =
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36';
const UNFURLER = 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)';

const FUTURE = new Date(Date.now() + 3_600_000).toISOString();
const PAST = new Date(Date.now() - 1000).toISOString();

let ingest: TestIngest;
let point = 0;
beforeAll(async () => {
  ingest = await startIngest({ random: () => point });
});
afterAll(() => ingest.stop());

const visit: TestIngest['visit'] = (...request) => ingest.visit(...request);
const policyOf = (answer: Awaited<ReturnType<typeof visit>>) => String(answer.headers['content-security-policy']);

describe('link previews for bots', () => {
  const proxied = {
    proxy: true,
    title: 'Half <b>price</b> & more',
    description: '"Quoted" \' description',
    image: 'https://cdn.acme.com/a.png?x=1&y="2"',
    video: 'https://cdn.acme.com/a.mp4',
  };

  it('shows bots title, description, image and video, with every text escaped and noindex', async () => {
    const { key } = await ingest.link(proxied);
    const answer = await visit(`/${key}`, { 'user-agent': UNFURLER });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['x-robots-tag']).toBe('googlebot: noindex');
    for (const tag of [
      '<title>Half &lt;b&gt;price&lt;/b&gt; &amp; more</title>',
      '<meta name="robots" content="noindex">',
      '<meta property="og:title" content="Half &lt;b&gt;price&lt;/b&gt; &amp; more">',
      '<meta property="og:description" content="&quot;Quoted&quot; &#39; description">',
      '<meta property="og:image" content="https://cdn.acme.com/a.png?x=1&amp;y=&quot;2&quot;">',
      '<meta property="og:video" content="https://cdn.acme.com/a.mp4">',
      '<meta name="twitter:card" content="summary_large_image">',
      '<meta name="twitter:title" content="Half &lt;b&gt;price&lt;/b&gt; &amp; more">',
      '<meta name="twitter:image" content="https://cdn.acme.com/a.png?x=1&amp;y=&quot;2&quot;">',
    ]) {
      expect(answer.body).toContain(tag);
    }
    expect(answer.body).not.toContain('<b>');
    expect(answer.body).not.toContain('acme.com/pricing');
    expect(policyOf(answer)).toMatch(/default-src 'none'.*form-action 'none'.*frame-ancestors 'none'/);
    expect(policyOf(answer)).not.toContain('unsafe');
    expect(answer.headers['set-cookie']).toMatch(/^dub_id_go\.acme\.com_[^=]+=[0-9A-Za-z]{16}; Path=/);
    const untracked = await visit(`/${key}?dub-no-track=1`, { 'user-agent': UNFURLER });
    expect([untracked.statusCode, untracked.headers['set-cookie']]).toEqual([200, undefined]);
  });

  it('shows bots the placeholder of a link without a destination, as it does people', async () => {
    const { key } = await ingest.link({ ...proxied, url: '' });
    for (const agent of [UNFURLER, BROWSER]) {
      const answer = await visit(`/${key}`, { 'user-agent': agent });
      expect(answer.statusCode).toBe(200);
      expect(answer.body).toContain('<h1>Short links live here</h1>');
      expect(answer.body).toContain('This domain is used for short links.');
      expect(answer.body).not.toContain('og:title');
    }
  });

  it('redirects people, and bots too when the link has no custom preview', async () => {
    const own = await ingest.link(proxied);
    const plain = await ingest.link({ title: 'Not shown' });
    expect((await visit(`/${own.key}`)).statusCode).toBe(302);
    expect((await visit(`/${plain.key}`, { 'user-agent': UNFURLER })).statusCode).toBe(302);
  });

  it('shows the same for ?bot=1, and never an image or a video that previews cannot show', async () => {
    const { key } = await ingest.link({ ...proxied, image: 'data:text/html,x', video: 'javascript:alert(1)' });
    const { body, statusCode } = await visit(`/${key}?bot=1`);
    expect(statusCode).toBe(200);
    expect(body).not.toMatch(/og:image|og:video|javascript|data:/);
  });

  it('reveals nothing about a locked, disabled or expired link', async () => {
    for (const [fields, status] of [
      [{ password: 'x' }, 401],
      [{ disabledAt: PAST }, 404],
      [{ expiresAt: PAST }, 410],
    ] as const) {
      const { key } = await ingest.link({ ...proxied, ...fields });
      const answer = await visit(`/${key}`, { 'user-agent': UNFURLER });
      expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([status, undefined]);
      expect(answer.body).not.toContain('price');
    }
  });
});

describe('destinations with app schemes', () => {
  it.each(['mailto:ada@acme.com', 'sms:+1555', 'tel:+1555', 'tg://resolve?domain=x', 'whatsapp://send', 'xmpp:a@b.c'])(
    '%s is opened by a page, and the visit counts as a click',
    async (url) => {
      const link = await ingest.link({ url, trackConversion: true });
      const answer = await visit(`/${link.key}`);
      expect(answer.statusCode).toBe(200);
      expect(answer.body).toContain(`<meta http-equiv="refresh" content="0;url=${url}">`);
      expect(answer.headers['set-cookie']).toContain('dub_id_');
      const id = parseResourceId('link', link.id);
      expect(await ingest.rowsWhen(1, 'click_events', 'link_id = {id:UInt64}', { id })).toMatchObject([{ url }]);
    },
  );

  it('adds the visit’s parameters, escaped', async () => {
    const { key } = await ingest.link({ url: 'mailto:ada@acme.com?subject=Hi' });
    const { body } = await visit(`/${key}?body=%22%3E%3Cscript%3E&cc=b@c.d`);
    expect(body).toContain('0;url=mailto:ada@acme.com?subject=Hi&amp;body=%22%3E%3Cscript%3E&amp;cc=b@c.d');
    expect(body).not.toContain('<script');
  });

  it.each([
    ['tel:+4930123456', 'fbclid=IwAR0&utm_source=ig&body=x', 'tel:+4930123456'],
    ['TEL:+4930123456?utm_source=print', '', 'TEL:+4930123456'],
    ['sms:+1555', 'fbclid=IwAR0&body=Hi%20you', 'sms:+1555?body=Hi%20you'],
    ['sms:+1555?body=Hi&utm_source=print', 'gclid=1', 'sms:+1555?body=Hi'],
    ['sms:+1555&body=Hi', 'fbclid=IwAR0&body=x', 'sms:+1555&amp;body=Hi'],
    ['sms:+1555&body=Hi?utm_source=print', '', 'sms:+1555&amp;body=Hi'],
    [
      'mailto:a@b.c?subject=a%20b',
      'fbclid=1&Subject=c&body=d&utm_source=ig',
      'mailto:a@b.c?subject=a%20b&amp;Subject=c&amp;body=d',
    ],
    ['xmpp:a@b.c?message;body=Hi', 'fbclid=1&body=x', 'xmpp:a@b.c?message;body=Hi'],
    ['tg://resolve?domain=x', 'start=1', 'tg://resolve?domain=x&amp;start=1'],
    ['whatsapp://send?phone=1', 'text=Hi', 'whatsapp://send?phone=1&amp;text=Hi'],
  ])('%s, visited with %j, opens %s', async (url, query, opened) => {
    const { key } = await ingest.link({ url, trackConversion: true });
    expect((await visit(`/${key}?${query}`)).body).toContain(`0;url=${opened}">`);
  });

  it('a number gets no click id and no key of a partner link either, and the click keeps the UTM values of the visit', async () => {
    const url = 'facetime:+4930123456';
    const link = await ingest.link({ url, trackConversion: true, programId: 'prog_x', partnerId: 'pn_zzzzzzzzzzz' });
    expect((await visit(`/${link.key}?utm_source=ig`)).headers.location).toBe(url);
    const id = parseResourceId('link', link.id);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {id:UInt64}', { id });
    expect(click).toMatchObject({ url: `${url}?via=${link.key}&utm_source=ig` });
  });

  it('redirects to other app schemes, which browsers follow', async () => {
    const { key } = await ingest.link({ url: 'myapp://open/this' });
    const answer = await visit(`/${key}`);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, 'myapp://open/this']);
  });
});

describe('cloaking', () => {
  it('frames the destination with parameters and click id, and allows loading nothing else', async () => {
    const { key } = await ingest.link({
      url: 'https://acme.com/?q="1"&b=2',
      rewrite: true,
      trackConversion: true,
      title: 'Own <title>',
    });
    const answer = await visit(`/${key}?a=1`);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toMatch(
      /<iframe src="https:\/\/acme\.com\/\?q=&quot;1&quot;&amp;b=2&amp;a=1&amp;dub_id=[0-9A-Za-z]{16}" title="Own &lt;title&gt;"/,
    );
    expect(answer.body).toContain('<title>Own &lt;title&gt;</title>');
    expect([answer.body.match(/ referrerpolicy="[^"]*"/g), answer.headers['referrer-policy']]).toEqual([
      [' referrerpolicy="strict-origin"'],
      'no-referrer',
    ]);
    expect(policyOf(answer)).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; frame-src https: http:;/);
    expect(answer.headers['set-cookie']).toContain('dub_id_');
  });

  it('has all tags of a link preview', async () => {
    const texts = { title: 'A', description: 'B', image: 'https://cdn.acme.com/c', video: 'https://cdn.acme.com/d' };
    const { key } = await ingest.link({ ...texts, proxy: true, rewrite: true });
    const tagsOf = async (agent: string) =>
      (await visit(`/${key}`, { 'user-agent': agent })).body.match(/<meta [a-z]+="(?:og:|twitter:|description)[^>]+>/g);
    const tags = await tagsOf(UNFURLER);
    expect([tags?.length, await tagsOf(BROWSER)]).toEqual([12, tags]);
  });

  it('has browsers load an http destination over https in a page that is visited over https, where they block it', async () => {
    const { key } = await ingest.link({ url: 'http://acme.com/a', rewrite: true });
    const secure = await visit(`/${key}`, { 'x-forwarded-proto': 'https' });
    expect(policyOf(secure)).toContain('; upgrade-insecure-requests; ');
    expect(secure.body).toContain('<iframe src="http://acme.com/a"');
    expect(policyOf(await visit(`/${key}`))).not.toContain('upgrade');
    // What a destination loads would be upgraded, too.
    const other = await ingest.link({ url: 'https://acme.com/a', rewrite: true });
    expect(policyOf(await visit(`/${other.key}`, { 'x-forwarded-proto': 'https' }))).not.toContain('upgrade');
  });

  it('never frames URLs that could run with the origin of the short link', async () => {
    for (const url of ['javascript:alert(1)', 'data:text/html,<script>alert(1)</script>']) {
      const { key } = await ingest.link({ url, rewrite: true });
      const answer = await visit(`/${key}`);
      expect(answer.statusCode).toBe(302);
      expect(answer.body).toBe('');
    }
  });
});

describe('devices and countries', () => {
  const targets = {
    url: 'https://acme.com/all',
    ios: 'https://apps.apple.com/app/id1',
    android: 'https://play.google.com/store/apps/details?id=a',
    geo: { DE: 'https://acme.de/', US: 'https://acme.com/us' },
  };
  const at = (agent: string, country?: string) => ({
    'user-agent': agent,
    ...(country === undefined ? {} : { 'cf-ipcountry': country }),
  });

  it('iOS takes precedence over Android, then country, then the default', async () => {
    const { key } = await ingest.link(targets);
    const to = async (headers: Record<string, string>) => (await visit(`/${key}`, headers)).headers.location;
    expect(await to(at(IPHONE, 'DE'))).toBe(targets.ios);
    expect(await to(at(PIXEL, 'DE'))).toBe(targets.android);
    expect(await to(at(BROWSER, 'DE'))).toBe(targets.geo.DE);
    expect(await to(at(BROWSER, 'FR'))).toBe(targets.url);
    expect(await to(at(BROWSER))).toBe(targets.url);
  });

  it('a target for UK or EL is for visits from GB or GR, unless the link has one for those', async () => {
    const [uk, gb, el] = ['https://acme.com/uk', 'https://acme.com/gb', 'https://acme.com/el'];
    const aliased = await ingest.link({ ...targets, geo: { UK: uk, EL: el } });
    const both = await ingest.link({ ...targets, geo: { UK: uk, GB: gb } });
    const to = async (key: string, country: string) => (await visit(`/${key}`, at(BROWSER, country))).headers.location;
    expect([await to(aliased.key, 'GB'), await to(aliased.key, 'GR'), await to(aliased.key, 'FR')]).toEqual([
      uk,
      el,
      targets.url,
    ]);
    expect([await to(both.key, 'GB'), await to(both.key, 'UK')]).toEqual([gb, gb]);
  });

  it('parameters and click id are passed on, and the click records its destination', async () => {
    const link = await ingest.link({ ...targets, trackConversion: true });
    const { location } = (await visit(`/${link.key}?a=1`, at(BROWSER, 'US'))).headers;
    expect(location).toMatch(/^https:\/\/acme\.com\/us\?a=1&dub_id=[0-9A-Za-z]{16}$/);
    const id = parseResourceId('link', link.id);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {id:UInt64}', { id });
    expect(click).toMatchObject({ url: 'https://acme.com/us?a=1', country: 'US' });
  });

  it('a country named like an object property has no effect', async () => {
    const { key } = await ingest.link({ geo: {} });
    expect((await visit(`/${key}`, at(BROWSER, 'toString'))).headers.location).toBe('https://acme.com/pricing');
  });

  it.each([
    [{ ios: 'tel:+1555' }, at(IPHONE), 'tel:+1555'],
    [{ android: 'sms:+1555' }, at(PIXEL), 'sms:+1555'],
    [{ geo: { DE: 'mailto:a@b.test' } }, at(BROWSER, 'DE'), 'mailto:a@b.test'],
  ])('a target with an app scheme is opened like such a destination: %j', async (target, headers, url) => {
    const link = await ingest.link({ ...target, trackConversion: true });
    const answer = await visit(`/${link.key}`, headers);
    expect([answer.statusCode, answer.headers.location]).toEqual([200, undefined]);
    expect(answer.body).toContain(`<meta http-equiv="refresh" content="0;url=${url}">`);
    const id = parseResourceId('link', link.id);
    expect(await ingest.rowsWhen(1, 'click_events', 'link_id = {id:UInt64}', { id })).toMatchObject([{ url }]);
  });

  it('a target with another scheme gets the click id, as such a destination does', async () => {
    const own = await ingest.link({ url: 'myapp://open', trackConversion: true });
    const ios = await ingest.link({ ios: 'myapp://open', trackConversion: true });
    for (const { key } of [own, ios]) {
      expect((await visit(`/${key}`, at(IPHONE))).headers.location).toMatch(/^myapp:\/\/open\?dub_id=[0-9A-Za-z]{16}$/);
    }
  });

  it('cloaking and app schemes take precedence over devices', async () => {
    const { key } = await ingest.link({ ...targets, rewrite: true });
    expect((await visit(`/${key}`, at(IPHONE))).body).toContain('<iframe src="https://acme.com/all"');
    const mail = await ingest.link({ ...targets, url: 'mailto:all@acme.com' });
    for (const headers of [at(IPHONE), at(BROWSER, 'DE')]) {
      expect((await visit(`/${mail.key}`, headers)).body).toContain('content="0;url=mailto:all@acme.com"');
    }
  });
});

describe('A/B tests', () => {
  const variants = [
    { url: 'https://acme.com/a', percentage: 60 },
    { url: 'https://acme.com/b?x=1', percentage: 30 },
    { url: 'https://acme.com/c', percentage: 10 },
  ];
  const testing = { testVariants: variants, testStartedAt: PAST, testCompletedAt: FUTURE, trackConversion: false };
  const cookieOf = (answer: Awaited<ReturnType<typeof visit>>) =>
    [answer.headers['set-cookie']].flat().find((cookie) => cookie?.startsWith('dub_test_url='));

  it.each([
    [0, '/a'],
    [0.599, '/a'],
    [0.6, '/b?x=1'],
    [0.899, '/b?x=1'],
    [0.9, '/c'],
    [0.999, '/c'],
  ])('a draw of %d leads to %s', async (drawn, path) => {
    const { key } = await ingest.link(testing);
    point = drawn;
    const answer = await visit(`/${key}`);
    expect(answer.headers.location).toBe(`https://acme.com${path}`);
    expect(cookieOf(answer)).toBe(
      `dub_test_url=${encodeURIComponent(`https://acme.com${path}`)}; Max-Age=604800; HttpOnly; SameSite=Lax; Path=/${key}`,
    );
  });

  it('traffic is split by the percentages', async () => {
    const { key } = await ingest.link(testing);
    const counts: Record<string, number> = {};
    for (let step = 0; step < 100; step++) {
      point = step / 100;
      const { location } = (await visit(`/${key}`)).headers;
      counts[String(location)] = (counts[String(location)] ?? 0) + 1;
    }
    expect(Object.values(counts)).toEqual([60, 30, 10]);
  });

  it('a visitor with a cookie stays on that variant; a cookie for an unknown variant is ignored', async () => {
    const { key } = await ingest.link(testing);
    point = 0;
    const to = async (cookie: string) => (await visit(`/${key}`, { cookie })).headers.location;
    expect(await to(`a=1; dub_test_url=${encodeURIComponent('https://acme.com/c')}; b=2`)).toBe('https://acme.com/c');
    expect(await to(`dub_test_url=${encodeURIComponent('https://evil.com/')}`)).toBe('https://acme.com/a');
    expect(await to(`xdub_test_url=${encodeURIComponent('https://acme.com/c')}`)).toBe('https://acme.com/a');
  });

  it.each(['https://acme.com/b?x=1', 'https%3a%2f%2facme.com%2fb%3fx%3d1', 'https://acme.com/b%3Fx=1'])(
    'the cookie is accepted in the encodings of other clients: %s',
    async (value) => {
      const { key } = await ingest.link(testing);
      point = 0;
      const answer = await visit(`/${key}`, { cookie: `dub_test_url=${value}` });
      expect(answer.headers.location).toBe('https://acme.com/b?x=1');
    },
  );

  it.each([
    ['a header', '', { 'dub-no-track': '1' }],
    ['the query', '?dub-no-track=1', {}],
  ] as const)('who asks not to be tracked in %s gets a variant, but no cookie', async (_where, query, headers) => {
    const { key } = await ingest.link(testing);
    point = 0;
    const answer = await visit(`/${key}${query}`, headers);
    expect([answer.headers.location, answer.headers['set-cookie']]).toEqual(['https://acme.com/a', undefined]);
  });

  it('a cookie that cannot be decoded is ignored', async () => {
    const { key } = await ingest.link(testing);
    point = 0;
    expect((await visit(`/${key}`, { cookie: 'dub_test_url=%E0%A4%A' })).headers.location).toBe('https://acme.com/a');
  });

  it('the cookie has the visited path, so that the browser sends it back', async () => {
    await ingest.link({ ...testing, key: 'Split/Caf\u00e9' });
    for (const path of ['/split/caf%C3%A9', '/SPLIT/caf%c3%a9', '/Split/xn--caf-dma']) {
      expect(cookieOf(await visit(path))).toMatch(new RegExp(`; Path=${path}$`));
    }
  });

  it('a variant whose URL is too long for a cookie is kept as well', async () => {
    const long = `https://acme.com/${'x'.repeat(5000)}`;
    const { key } = await ingest.link({ ...testing, testVariants: [variants[0]!, { url: long, percentage: 40 }] });
    point = 0.9;
    const cookie = String(cookieOf(await visit(`/${key}`))).split(';')[0] ?? '';
    expect(cookie.length).toBeLessThan(100);
    point = 0;
    expect((await visit(`/${key}`, { cookie })).headers.location).toBe(long);
  });

  it('device and country targets take precedence, and a test that has ended or has no end does not run', async () => {
    point = 0.9;
    const ios = await ingest.link({ ...testing, ios: 'https://acme.com/ios' });
    expect((await visit(`/${ios.key}`, { 'user-agent': IPHONE })).headers.location).toBe('https://acme.com/ios');
    for (const fields of [{ testCompletedAt: PAST }, { testCompletedAt: null }]) {
      const { key } = await ingest.link({ ...testing, ...fields });
      const answer = await visit(`/${key}`);
      expect(answer.headers.location).toBe('https://acme.com/pricing');
      expect(cookieOf(answer)).toBeUndefined();
    }
  });

  it('a variant is cloaked like the link', async () => {
    point = 0.9;
    const { key } = await ingest.link({ ...testing, rewrite: true });
    expect((await visit(`/${key}`)).body).toContain('<iframe src="https://acme.com/c"');
  });
});
