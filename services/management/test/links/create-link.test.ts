import { type Link, linkSchema, PLANS } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type Answer,
  aCaller,
  type Caller,
  callerWith,
  DEFAULT_DOMAIN,
  startManagement,
  statusesOf,
  type TestManagement,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let free: Caller;
let pro: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  [free, pro] = [await aCaller(management, 'free'), await aCaller(management, 'pro')];
});
afterAll(() => management.close());

const URL_A = 'https://acme.com/a';
const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];

describe('POST /links', () => {
  it('creates a link with a random key of seven characters on the primary domain', async () => {
    const { status, body } = await acme.post({ url: URL_A });
    expect(status).toBe(200);
    const link = linkSchema.parse(body);
    expect(link.key).toMatch(/^[0-9A-Za-z]{7}$/);
    expect(link).toMatchObject({ domain: acme.host, url: URL_A, workspaceId: acme.workspaceId, clicks: 0 });
    expect(Date.parse(link.createdAt)).toBeGreaterThan(Date.now() - 60_000);
  });

  it('stores every field', async () => {
    const body = {
      url: 'acme.com/deal?utm_medium=old',
      domain: acme.host.toUpperCase(),
      key: 'Every/Field',
      externalId: 'ext_ref-1',
      tenantId: 'tenant-1',
      trackConversion: true,
      archived: true,
      publicStats: true,
      comments: 'a comment',
      expiresAt: '2030-05-06T07:08:09+02:00',
      expiredUrl: 'gone.com',
      password: 'secret',
      proxy: true,
      title: 't'.repeat(130),
      description: 'd'.repeat(240),
      image: 'https://img.com/a.png',
      video: 'https://v.com/a.mp4',
      rewrite: true,
      doIndex: true,
      ios: 'https://apps.apple.com/x',
      android: 'market://details?id=x',
      geo: { FR: 'https://fr.acme.com', DE: 'de.acme.com' },
      utm_source: ' newsletter ',
      utm_medium: '',
      ref: 'friend',
      testVariants: [
        { url: 'https://a.com', percentage: 40 },
        { url: 'b.com', percentage: 60 },
      ],
      testStartedAt: '2026-01-01',
      testCompletedAt: '2026-02-01T00:00:00Z',
      unknownField: 'ignored',
    };
    const { status, body: link } = await acme.post(body);
    expect(status).toBe(200);
    expect(linkSchema.parse(link)).toMatchObject({
      url: 'https://acme.com/deal?utm_source=newsletter&ref=friend',
      domain: acme.host,
      key: 'Every/Field',
      externalId: 'ext_ref-1',
      tenantId: 'tenant-1',
      trackConversion: true,
      archived: true,
      publicStats: true,
      comments: 'a comment',
      expiresAt: '2030-05-06T05:08:09.000Z',
      expiredUrl: 'https://gone.com',
      password: 'secret',
      proxy: true,
      title: `${'t'.repeat(117)}...`,
      description: 'd'.repeat(240),
      image: 'https://img.com/a.png',
      video: 'https://v.com/a.mp4',
      rewrite: true,
      doIndex: true,
      ios: 'https://apps.apple.com/x',
      android: 'market://details?id=x',
      geo: { FR: 'https://fr.acme.com', DE: 'https://de.acme.com' },
      utm_source: 'newsletter',
      utm_medium: null,
      testVariants: [
        { url: 'https://a.com', percentage: 40 },
        { url: 'https://b.com', percentage: 60 },
      ],
      testStartedAt: '2026-01-01T12:00:00.000Z',
      testCompletedAt: '2026-02-01T00:00:00.000Z',
    });
    expect((await acme.get(`/links/${link.id}`)).body).toEqual(link);
  });

  it('accepts null for every nullable field', async () => {
    const fields =
      'domain key externalId tenantId comments expiresAt expiredUrl password title description image video ios android geo utm_source ref testVariants testStartedAt tagIds tagId folderId programId partnerId webhookIds';
    const nulls = Object.fromEntries(fields.split(' ').map((field) => [field, null]));
    expect((await acme.post({ url: URL_A, ...nulls })).status).toBe(200);
  });

  it.each([
    ['not an object', [], 400, 'bad_request'],
    ['no url', {}, 400, 'bad_request'],
    ['null for url', { url: null }, 400, 'bad_request'],
    ['a number for url', { url: 7 }, 400, 'bad_request'],
    ['an empty url', { url: '' }, 400, 'bad_request'],
    ['an invalid url', { url: 'nonsense' }, 422, 'unprocessable_entity'],
    ['too long a url', { url: `https://a.com/${'x'.repeat(32_000)}` }, 422, 'unprocessable_entity'],
    ['text for a boolean', { url: URL_A, archived: 'yes' }, 400, 'bad_request'],
    ['a number for tagIds', { url: URL_A, tagIds: 3 }, 400, 'bad_request'],
    ['a bad key', { url: URL_A, key: 'a b' }, 422, 'unprocessable_entity'],
    ['a reserved key', { url: URL_A, key: 'robots.txt' }, 403, 'forbidden'],
    ['a bad prefix', { url: URL_A, prefix: '_x' }, 422, 'unprocessable_entity'],
    ['a random key too long with its prefix', { url: URL_A, prefix: 'p'.repeat(183) }, 422, 'unprocessable_entity'],
    ['too short a key length', { url: URL_A, keyLength: 2 }, 422, 'unprocessable_entity'],
    ['too great a key length', { url: URL_A, keyLength: 191 }, 422, 'unprocessable_entity'],
    ['a key length that is a fraction', { url: URL_A, keyLength: 3.5 }, 422, 'unprocessable_entity'],
    ['a key that ends .php', { url: URL_A, key: 'x.php' }, 422, 'unprocessable_entity'],
    ['a long utm', { url: URL_A, utm_source: 'x'.repeat(256) }, 422, 'unprocessable_entity'],
    ['words that are no date', { url: URL_A, expiresAt: 'some time' }, 422, 'unprocessable_entity'],
    ['an invalid date', { url: URL_A, expiresAt: '2026-02-31T99:00:00Z' }, 422, 'unprocessable_entity'],
    ['an invalid country', { url: URL_A, geo: { fr: 'https://a.com' } }, 422, 'unprocessable_entity'],
    [
      'fields that are too long together',
      {
        url: URL_A,
        geo: Object.fromEntries(['FR', 'DE', 'US'].map((code) => [code, `https://a.com/${'x'.repeat(25_000)}`])),
      },
      422,
      'unprocessable_entity',
    ],
    ['an invalid geo url', { url: URL_A, geo: { FR: 'nonsense' } }, 422, 'unprocessable_entity'],
    ['an empty externalId', { url: URL_A, externalId: '' }, 422, 'unprocessable_entity'],
    ['a foreign domain', { url: URL_A, domain: 'elsewhere.example' }, 403, 'forbidden'],
  ])('refuses %s', async (_what, body, status, code) => {
    expect(codeOf(await acme.post(body))).toEqual([status, code]);
  });

  it('accepts dates in words; a day without a time means noon', async () => {
    const words = { expiresAt: 'in 2 weeks', testStartedAt: 'yesterday', testCompletedAt: '2 hours from now' };
    const { body } = await acme.post({ url: URL_A, ...words });
    const inDays = (text: string | null) => (Date.parse(text ?? '') - Date.now()) / 86_400_000;
    expect(inDays(body.expiresAt)).toBeCloseTo(14, 2);
    expect(body.testStartedAt).toMatch(/T12:00:00\.000Z$/);
    expect(inDays(body.testCompletedAt) * 24).toBeCloseTo(2, 1);
  });

  it('variants need trackConversion and add up to 100', async () => {
    const variants = (...percentages: number[]) =>
      percentages.map((percentage) => ({ url: 'https://a.com', percentage }));
    const create = (testVariants: unknown, trackConversion = true) =>
      acme.post({ url: URL_A, trackConversion, testVariants });
    expect((await create(variants(50, 50), false)).status).toBe(422);
    for (const refused of [[50, 40], [100], [20, 20, 20, 20, 20], [9, 91], [9, 45, 46]])
      expect([refused, (await create(variants(...refused))).status]).toEqual([refused, 422]);
    for (const accepted of [
      [33.3, 33.3, 33.4],
      [10, 90],
      [25, 25, 25, 25],
    ])
      expect([accepted, (await create(variants(...accepted))).status]).toEqual([accepted, 200]);
  });

  it.each(['localhost', 'a.localhost', 'LOCALHOST.:80', '[::1]', '127.0.0.1', '127.0.0.1.', '0x7f.1'])(
    'refuses an image on the host %s',
    async (host) => {
      const answer = await acme.post({ url: URL_A, image: `http://${host}/a.png` });
      expect(codeOf(answer)).toEqual([422, 'unprocessable_entity']);
    },
  );

  it('an image that is neither a URL nor a data URL is ignored; a small data URL is stored', async () => {
    for (const image of ['cat.png', 'ftp://a.com/a.png', ' ', 'data:text/plain,x'])
      expect((await acme.post({ url: URL_A, proxy: true, image })).body.image).toBeNull();
    for (const image of ['data:image/png;base64,iVBORw0KGgo=', 'https://img.com/a.png'])
      expect((await acme.post({ url: URL_A, image: ` ${image} ` })).body.image).toBe(image);
  });

  it('a taken key in any case, or externalId, conflicts before later errors are reported', async () => {
    await acme.post({ url: URL_A, key: 'Taken', externalId: 'taken' });
    expect(codeOf(await acme.post({ url: URL_A, key: 'tAKEN' }))).toEqual([409, 'conflict']);
    expect(codeOf(await acme.post({ url: URL_A, externalId: 'taken' }))).toEqual([409, 'conflict']);
    expect(codeOf(await acme.post({ url: URL_A, key: 'taken', expiresAt: 'never' }))).toEqual([409, 'conflict']);
    expect(codeOf(await acme.post({ url: URL_A, key: 'free', expiresAt: 'never' }))).toEqual([
      422,
      'unprocessable_entity',
    ]);
  });

  it('the root link of a domain is created with it', async () => {
    for (const key of ['_root', '/']) {
      expect(codeOf(await acme.post({ url: URL_A, key }))).toEqual([409, 'conflict']);
    }
  });

  it('keyLength and prefix apply to random keys and are ignored with a chosen one', async () => {
    expect((await acme.post({ url: URL_A, keyLength: 12, prefix: '/c/' })).body.key).toMatch(/^c\/[0-9A-Za-z]{12}$/);
    expect((await acme.post({ url: URL_A, keyLength: 12, prefix: 'c', key: 'mine' })).body.key).toBe('mine');
    expect((await acme.post({ url: URL_A, keyLength: 190 })).body.key).toMatch(/^[0-9A-Za-z]{190}$/);
  });

  it('a prefix is checked before what the body refers to, as a key is', async () => {
    const later = { url: URL_A, folderId: 'fold_x' };
    for (const own of [{ prefix: '_x' }, { key: '_x' }])
      expect(codeOf(await acme.post({ ...later, ...own }))).toEqual([422, 'unprocessable_entity']);
    expect(codeOf(await acme.post({ ...later, prefix: 'x' }))).toEqual([404, 'not_found']);
  });

  it('needs the permission links.write', async () => {
    const { record: _record, token } = await management.catalog.keys.create({
      workspaceId: acme.workspaceId,
      name: 'reader',
      kind: 'secret',
      role: 'owner',
      scopes: ['links.read'],
    });
    const reader = callerWith(management, acme.workspaceId, token, acme.host);
    expect(codeOf(await reader.post({ url: 7 }))).toEqual([403, 'forbidden']);
    expect((await reader.get(`/links/info?domain=${acme.host}`)).status).toBe(200);
  });
});

describe('plans', () => {
  const PRO_FIELDS = {
    proxy: true,
    password: 'x',
    rewrite: true,
    expiresAt: '2030-01-01',
    ios: 'https://a.com',
    android: 'https://a.com',
    geo: { FR: 'https://a.com' },
    doIndex: true,
    folderId: 'fold_x',
  };
  const BUSINESS_FIELDS = {
    trackConversion: true,
    webhookIds: ['wh_x'],
    testVariants: [
      { url: 'https://a.com', percentage: 50 },
      { url: 'https://b.com', percentage: 50 },
    ],
  };

  it.each(Object.entries(PRO_FIELDS))('%s needs pro', async (field, value) => {
    const { status, body } = await free.post({ url: URL_A, [field]: value });
    expect([status, body.error.code]).toEqual([403, 'forbidden']);
    expect(body.error.message).toContain(field);
    expect((await pro.post({ url: URL_A, [field]: value })).status).toBe(field === 'folderId' ? 404 : 200);
  });

  it.each(Object.entries(BUSINESS_FIELDS))('%s needs business', async (field, value) => {
    expect(codeOf(await pro.post({ url: URL_A, [field]: value }))).toEqual([403, 'forbidden']);
    expect(codeOf(await pro.post({ url: 'nonsense', [field]: value }))).toEqual([422, 'unprocessable_entity']);
  });

  it('empty values of such fields are accepted on the free plan', async () => {
    const none = { proxy: false, password: '', expiresAt: null, geo: {}, trackConversion: false, webhookIds: [] };
    expect((await free.post({ url: URL_A, ...none })).status).toBe(200);
  });

  it('a destination for the root needs pro', async () => {
    const free = await aCaller(management, 'free');
    for (const key of ['_root', '']) expect(codeOf(await free.post({ url: URL_A, key }))).toEqual([403, 'forbidden']);
  });

  it.each(PLANS)('%s: the monthly quota is checked before the body', async (plan) => {
    const caller = await aCaller(management, plan);
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { linksPerMonth: 2 } });
    expect((await caller.post({ url: URL_A })).status).toBe(200);
    expect((await caller.post({ url: URL_A })).status).toBe(200);
    const { status, body } = await caller.post({});
    expect([status, body.error.code]).toEqual([403, 'forbidden']);
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { linksPerMonth: null } });
    expect((await caller.post({ url: URL_A })).status).toBe(200);
  });
});

describe('concurrent creations', () => {
  it('with one key create one link and 99 conflicts', async () => {
    let index = 0;
    const create = () => acme.post({ url: `${URL_A}/${index++}`, key: index % 2 ? 'Race' : 'race' });
    expect(await statusesOf(100, create)).toEqual({ 200: 1, 409: 99 });
  });

  it('with one externalId create one link and 99 conflicts', async () => {
    const create = () => acme.post({ url: URL_A, externalId: 'race' });
    expect(await statusesOf(100, create)).toEqual({ 200: 1, 409: 99 });
  });

  it('do not exceed the monthly quota together', async () => {
    const caller = await aCaller(management, 'business');
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { linksPerMonth: 7 } });
    expect(await statusesOf(30, () => caller.post({ url: URL_A }))).toEqual({ 200: 7, 403: 23 });
  });
});

it('a title or a description is never cut in the middle of a character', async () => {
  const { body } = await acme.post({
    url: URL_A,
    title: `${'t'.repeat(116)}${'😀'.repeat(4)}`,
    description: '😀'.repeat(200),
  });
  expect([body.title, body.description]).toEqual([`${'t'.repeat(116)}...`, `${'😀'.repeat(118)}...`]);
});

it('an image as data URL has at most 100,000 characters', async () => {
  const [image = '', longer = ''] = [24_994, 24_995].map((count) => `data:image/png;base64,${'AAAA'.repeat(count)}`);
  expect([image.length, longer.length]).toEqual([99_998, 100_002]);
  expect((await acme.post({ url: URL_A, image })).body.image).toBe(image);
  expect(codeOf(await acme.post({ url: URL_A, image: longer }))).toEqual([422, 'unprocessable_entity']);
});

describe('the shared domain', () => {
  const SERVICE_NAMES =
    'admin api app auth billing blog contact dashboard docs help home login logout oauth pricing privacy register settings sign-in sign-up signin signup status support terms webhooks www'.split(
      ' ',
    );

  it('serves workspaces without their own domain, allows short keys from pro on, and never keys of service routes', async () => {
    const free = await aCaller(management, 'free', false);
    const { status, body } = await free.post({ url: URL_A });
    expect([status, body.domain]).toEqual([200, DEFAULT_DOMAIN]);
    for (const key of ['abc', 'é', '日本', '😀', 'xn--9ca', '/ab/']) {
      expect([key, ...codeOf(await free.post({ url: URL_A, key }))]).toEqual([key, 403, 'forbidden']);
      const moved = await free.call('PATCH', `/links/${body.id}`, { key });
      expect([key, moved.status]).toEqual([key, 403]);
    }
    for (const key of ['abcd', 'éàüö'])
      expect([key, (await free.post({ url: URL_A, key })).status]).toEqual([key, 200]);
    expect((await free.call('PATCH', `/links/${body.id}`, { key: 'efgh' })).status).toBe(200);
    expect(codeOf(await free.post({ url: URL_A, keyLength: 3 }))).toEqual([403, 'forbidden']);
    expect(codeOf(await free.post({ url: URL_A, keyLength: 3, prefix: '/' }))).toEqual([403, 'forbidden']);
    expect((await free.post({ url: URL_A, keyLength: 3, prefix: 'c' })).status).toBe(200);
    for (const key of ['Login', '/api/', ...SERVICE_NAMES]) {
      expect(codeOf(await acme.post({ url: URL_A, key, domain: DEFAULT_DOMAIN })), key).toEqual([409, 'conflict']);
    }
    expect(codeOf(await free.post({ url: URL_A, key: 'api' }))).toEqual([409, 'conflict']);
    expect((await acme.post({ url: URL_A, key: 'api' })).status).toBe(200);
    expect((await acme.post({ url: URL_A, key: 'abc', domain: DEFAULT_DOMAIN })).status).toBe(200);
  });

  it('has no such rules for the workspace that has registered it', async () => {
    const { workspaceId, token, host } = await aCaller(management, 'free');
    const other = await startManagement(Date.now, { defaultDomain: host }, management);
    onTestFinished(() => other.close());
    const owner = callerWith(other, workspaceId, token, host);
    for (const some of [{ key: 'admin' }, { key: 'Docs', domain: host }, { key: 'ab' }, { keyLength: 3 }])
      expect([some, (await owner.post({ url: URL_A, ...some })).status]).toEqual([some, 200]);
    const stranger = await aCaller(other, 'free', false);
    expect(codeOf(await stranger.post({ url: URL_A, key: 'login' }))).toEqual([409, 'conflict']);
  });

  it('is random for an empty key, which a change ignores', async () => {
    const { status, body: link } = await acme.post({ url: URL_A, key: '', prefix: 'c', domain: '', tenantId: '' });
    expect([status, link.key]).toEqual([200, expect.stringMatching(/^c\/[0-9A-Za-z]{7}$/)]);
    expect((await acme.call('PATCH', `/links/${link.id}`, { key: '' })).body).toEqual(link);
    const moved = await acme.call<Link>('PATCH', `/links/${link.id}`, { key: '', domain: DEFAULT_DOMAIN });
    expect(moved.body).toMatchObject({ key: link.key, domain: DEFAULT_DOMAIN });
    const { body: links } = await acme.call<Link[]>('POST', '/links/bulk', [
      { url: URL_A, key: '' },
      { url: URL_A, key: '' },
    ]);
    expect(links.map(({ key }) => key)).toEqual(links.map(() => expect.stringMatching(/^[0-9A-Za-z]{7}$/)));
    expect((await acme.call<Link>('PUT', '/links/upsert', { url: 'https://acme.com/e', key: '' })).status).toBe(200);
    expect(codeOf(await acme.post({ url: '', key: '' }))).toEqual([400, 'bad_request']);
  });

  it('has a root that no workspace can take, with a new link or an update', async () => {
    for (const key of ['_root', '_ROOT', '/']) {
      expect(codeOf(await acme.post({ url: URL_A, key, domain: DEFAULT_DOMAIN }))).toEqual([409, 'conflict']);
    }
    const { body: shared } = await acme.post({ url: URL_A, domain: DEFAULT_DOMAIN });
    const { body: own } = await acme.post({ url: URL_A });
    for (const [{ id }, change] of [
      [shared, { key: '_root' }],
      [shared, { key: '/' }],
      [own, { key: '_root', domain: DEFAULT_DOMAIN }],
    ] as const) {
      expect(codeOf(await acme.call('PATCH', `/links/${id}`, change))).toEqual([409, 'conflict']);
    }
    expect((await acme.get(`/links/info?domain=${DEFAULT_DOMAIN}`)).status).toBe(404);
  });
});
