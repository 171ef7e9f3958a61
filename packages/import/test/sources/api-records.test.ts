import { describe, expect, it } from 'vitest';
import { isObject } from '../../src/model/fields.js';
import { bitlyLinks } from '../../src/sources/bitly.js';
import { dubLinks } from '../../src/sources/dub.js';
import { kuttLinks } from '../../src/sources/kutt.js';
import { rebrandlyLinks } from '../../src/sources/rebrandly.js';
import { shlinkLinks } from '../../src/sources/shlink.js';
import { shortIoLinks } from '../../src/sources/short-io.js';
import { yourlsLinks } from '../../src/sources/yourls.js';

/** Fields with a value, which is what an import passes on. */
const set = (fields: object) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== false),
  );
/** The names of lost fields; each forms a sentence with its reason. */
function lostFields(lost: readonly { readonly field: string; readonly reason: string }[]): string[] {
  for (const { reason } of lost) expect(reason).toMatch(/^(is|has|names) /);
  return lost.map(({ field }) => field);
}
const NO_SALES = { leads: 0, conversions: 0, sales: 0, saleAmount: 0 };

describe('links of dub', () => {
  const RECORD = {
    ...{ id: 'link_1', domain: 'dub.acme.com', key: 'Spring/Sale', url: 'https://acme.com/sale', externalId: null },
    ...{ trackConversion: true, tenantId: 'tenant-1', programId: 'prog_1', partnerId: 'pn_1', archived: true },
    ...{
      expiresAt: '2030-01-01T00:00:00.000Z',
      expiredUrl: 'https://acme.com/over',
      disabledAt: null,
      password: 'open',
    },
    ...{ proxy: true, title: 'Sale', description: 'All of it', image: 'https://acme.com/a.png', video: null },
    ...{ rewrite: true, doIndex: true, ios: 'https://apps.apple.com/a', android: 'https://play.google.com/a' },
    ...{
      geo: { DE: 'https://acme.de' },
      publicStats: true,
      folderId: 'fold_1',
      webhookIds: ['wh_1'],
      comments: 'Note',
    },
    tags: [{ id: 'tag_1', name: 'Spring', color: 'green' }],
    ...{ utm_source: 's', utm_medium: 'm', utm_campaign: 'c', utm_term: 't', utm_content: 'x' },
    testVariants: [
      { url: 'https://acme.com/a', percentage: 50 },
      { url: 'https://acme.com/b', percentage: 50 },
    ],
    ...{ testStartedAt: '2024-01-01T00:00:00.000Z', testCompletedAt: '2030-01-01T00:00:00.000Z' },
    ...{
      shortLink: 'https://dub.acme.com/Spring/Sale',
      qrCode: 'https://api.dub.co/qr',
      userId: 'u',
      workspaceId: 'ws_1',
    },
    ...{
      clicks: 12,
      leads: 3,
      conversions: 2,
      sales: 2,
      saleAmount: 4900,
      lastClicked: null,
      tagId: 'tag_1',
      projectId: 'p',
    },
    ...{ createdAt: '2023-05-06T07:08:09.123Z', updatedAt: '2024-01-01T00:00:00.000Z' },
  };

  it('arrive with every field', () => {
    const [link] = dubLinks(RECORD, { folderNames: new Map([['fold_1', 'Campaigns']]) });
    expect(link).toMatchObject({
      ...{ domain: 'dub.acme.com', key: 'Spring/Sale', folder: 'Campaigns', createdAt: '2023-05-06T07:08:09.123Z' },
      ...{ tags: [{ name: 'Spring', color: 'green' }], sourceId: 'link_1' },
      counts: { clicks: 12, leads: 3, conversions: 2, sales: 2, saleAmount: 4900 },
    });
    const { id, domain, key, programId, partnerId, folderId, webhookIds, tags, tagId, ...rest } = RECORD;
    const {
      shortLink,
      qrCode,
      userId,
      workspaceId,
      projectId,
      clicks,
      leads,
      conversions,
      sales,
      saleAmount,
      ...more
    } = rest;
    const { lastClicked, createdAt, updatedAt, ...fields } = more;
    expect(set(link?.fields ?? {})).toEqual(set(fields));
  });

  it('may name tags and folder as the body of a request or a table does', () => {
    const named = { url: 'https://a.test', tagNames: ['a', 'b'], folder: ' Campaigns ' };
    expect(dubLinks(named, {})).toMatchObject([
      { tags: [{ name: 'a' }, { name: 'b' }], folder: 'Campaigns', lost: [] },
    ]);
    expect(dubLinks({ ...named, tagNames: 'a, b' }, {})[0]?.tags).toEqual([{ name: 'a' }, { name: 'b' }]);
    expect(() => dubLinks({ ...named, tagNames: 7 }, {})).toThrow('tagNames must be a list');
  });

  it('name what has no place here: records of the account, hidden passwords, and unknown fields', () => {
    const [link] = dubLinks({ ...RECORD, password: '********', folderId: 'fold_2', novelty: { on: true } }, {});
    expect(link?.fields.password).toBeNull();
    expect(new Set(lostFields(link?.lost ?? []))).toEqual(
      new Set(['password', 'folderId', 'programId', 'partnerId', 'webhookIds', 'novelty']),
    );
  });
});

describe('a link of dub', () => {
  it('keeps its countries when its A/B test is refused, and names what is lost', () => {
    const testVariants = [5, 95].map((percentage) => ({ url: 'https://acme.com/a', percentage }));
    const [link] = dubLinks({ url: 'https://a.test', geo: { DE: 'https://acme.de' }, testVariants }, {});
    expect(link?.fields).toMatchObject({ geo: { DE: 'https://acme.de' }, testVariants: null });
    expect(lostFields(link?.lost ?? [])).toEqual(['testVariants']);
  });

  it('is made without its countries if there are more of them than a link may have', () => {
    const geo = Object.fromEntries(Array.from({ length: 301 }, (_, index) => [`C${index}`, 'https://a.test']));
    const [link] = dubLinks({ url: 'https://a.test', geo }, {});
    expect(link?.fields.geo).toBeNull();
    expect(link?.lost).toMatchObject([{ field: 'geo', reason: 'has more than 300 values' }]);
  });
});

describe('bitlinks', () => {
  const RECORD = {
    ...{ id: 'go.acme.com/a/b/c', link: 'https://go.acme.com/a/b/c', long_url: 'https://acme.com/', title: 'Three' },
    ...{ created_at: '2020-10-26T17:20:40+0000', archived: true, tags: ['one', 'two'], references: { group: 'x' } },
    ...{ custom_bitlinks: ['https://go.acme.com/Custom', 'bit.ly/other'], deeplinks: [{ os: 'ios' }], total_clicks: 7 },
  };

  it('keep all of their key after the first slash, and every custom address becomes a link', () => {
    const links = bitlyLinks(RECORD, {});
    expect(links.map(({ domain, key }) => [domain, key])).toEqual([
      ['go.acme.com', 'a/b/c'],
      ['go.acme.com', 'Custom'],
      ['bit.ly', 'other'],
    ]);
    expect(links.map(({ counts }) => counts?.clicks ?? null)).toEqual([7, null, null]);
    expect(links[1]).toMatchObject({
      fields: { url: 'https://acme.com/', title: 'Three', archived: true },
      ...{ createdAt: '2020-10-26T17:20:40.000Z', tags: [{ name: 'one' }, { name: 'two' }] },
    });
    expect(lostFields(links[0]?.lost ?? [])).toEqual(['deeplinks']);
  });

  it('are refused without a destination, by the name of the field', () => {
    expect(() => bitlyLinks({ ...RECORD, long_url: '' }, {})).toThrow('long_url is missing');
    expect(() => bitlyLinks({ ...RECORD, tags: 'one' }, {})).toThrow('tags must be a list');
    expect(() => bitlyLinks('text', {})).toThrow('the record must be an object');
    const custom = (count: number) => Array.from({ length: count }, (_, index) => `bit.ly/${index}`);
    expect(bitlyLinks({ ...RECORD, custom_bitlinks: custom(100) }, {})).toHaveLength(101);
    expect(() => bitlyLinks({ ...RECORD, custom_bitlinks: custom(101) }, {})).toThrow('has more than 100 addresses');
  });
});

describe('links of Short.io', () => {
  const RECORD = {
    ...{ idString: 'lnk_1', domain: 'go.acme.com', path: 'Try/It', originalURL: 'https://acme.com/', title: 'Try' },
    ...{ tags: ['a'], archived: false, createdAt: '2022-02-03T04:05:06.000Z', iphoneURL: 'https://i.acme.com/' },
    ...{
      androidURL: 'https://a.acme.com/',
      expiresAt: 1893456000000,
      expiredURL: 'https://acme.com/over',
      cloaking: true,
    },
    ...{ password: 'open', utmSource: 's', utmMedium: 'm', utmCampaign: 'c', utmTerm: 't', utmContent: 'x' },
    ...{ splitURL: 'https://b.acme.com/', splitPercent: 30, clicksLimit: 100, FolderId: 'f1', redirectType: 301 },
  };

  it('arrive with every field, a split of visitors as an A/B test', () => {
    const [link] = shortIoLinks(RECORD, {});
    expect(link).toMatchObject({ domain: 'go.acme.com', key: 'Try/It', createdAt: '2022-02-03T04:05:06.000Z' });
    expect(set(link?.fields ?? {})).toEqual({
      ...{ url: 'https://acme.com/', title: 'Try', ios: 'https://i.acme.com/', android: 'https://a.acme.com/' },
      ...{
        expiresAt: '2030-01-01T00:00:00.000Z',
        expiredUrl: 'https://acme.com/over',
        password: 'open',
        rewrite: true,
      },
      ...{
        utm_source: 's',
        utm_medium: 'm',
        utm_campaign: 'c',
        utm_term: 't',
        utm_content: 'x',
        trackConversion: true,
      },
      testVariants: [
        { url: 'https://acme.com/', percentage: 70 },
        { url: 'https://b.acme.com/', percentage: 30 },
      ],
      ...{ testStartedAt: '2000-01-01T00:00:00.000Z', testCompletedAt: '2099-12-31T00:00:00.000Z' },
    });
    expect(lostFields(link?.lost ?? [])).toEqual(['clicksLimit', 'FolderId', 'redirectType']);
  });

  it('are made without a password that the source hides, and without a split that is too small, which the report says', () => {
    const [link] = shortIoLinks({ ...RECORD, password: null, hasPassword: true, splitPercent: 5 }, {});
    expect(link?.fields.testVariants).toBeUndefined();
    expect(lostFields(link?.lost ?? [])).toEqual(expect.arrayContaining(['hasPassword', 'splitURL']));
  });

  it('have lost their password and their split only if the source says so', () => {
    const clearedOf = (fields: object) => shortIoLinks({ ...RECORD, ...fields }, {})[0]?.cleared;
    expect(clearedOf({ password: null, hasPassword: false, splitURL: null })).toEqual([
      'password',
      'testVariants',
      'archived',
    ]);
    expect(clearedOf({ password: null, hasPassword: true })).toEqual(['archived']);
  });
});

it('links of Rebrandly arrive with every field', () => {
  const record = {
    ...{
      id: 'r1',
      slashtag: 'a/B',
      destination: 'https://acme.com/',
      title: 'T',
      createdAt: '2021-01-02T03:04:05.000Z',
    },
    ...{
      updatedAt: '2021-01-02T03:04:05.000Z',
      domain: { id: 'd', fullName: 'go.acme.com' },
      shortUrl: 'go.acme.com/a/B',
    },
    ...{ tags: [{ id: 't', name: 'One' }], clicks: 5, favourite: true },
  };
  const [link] = rebrandlyLinks(record, {});
  expect(link).toMatchObject({
    ...{ domain: 'go.acme.com', key: 'a/B', createdAt: '2021-01-02T03:04:05.000Z', tags: [{ name: 'One' }] },
    ...{ fields: { url: 'https://acme.com/', title: 'T' }, counts: { clicks: 5, ...NO_SALES } },
  });
  expect(lostFields(link?.lost ?? [])).toEqual(['favourite']);
  const [bare] = rebrandlyLinks({ destination: 'https://acme.com/', shortUrl: 'go.acme.com/only' }, {});
  expect([bare?.domain, bare?.key]).toEqual(['go.acme.com', 'only']);
});

it('links of YOURLS arrive with every field, their times in the zone that was named', () => {
  const record = {
    url: 'https://acme.com/',
    title: 'T',
    timestamp: '2024-07-01 12:00:00',
    ip: '203.0.113.9',
    clicks: '41',
  };
  const timezone = 'Europe/Berlin';
  const [row] = yourlsLinks({ ...record, keyword: 'abc' }, { timezone });
  expect(row).toMatchObject({
    domain: null,
    key: 'abc',
    createdAt: '2024-07-01T10:00:00.000Z',
    counts: { clicks: 41 },
  });
  expect(lostFields(row?.lost ?? [])).toEqual(['ip']);
  const [link] = yourlsLinks({ ...record, shorturl: 'http://sho.rt/x/y' }, { timezone });
  expect([link?.domain, link?.key]).toEqual(['sho.rt', 'x/y']);
  expect(() => yourlsLinks({ ...record, keyword: 'abc' }, {})).toThrow('has no time zone');
});

it('short URLs of Shlink arrive with every field; rules of more than a device or a country are reported', () => {
  const rule = (longUrl: string, ...conditions: object[]) => ({ longUrl, priority: 1, conditions });
  const ios = { type: 'device', matchKey: null, matchValue: 'ios' };
  const record = {
    ...{
      shortCode: 'a/B',
      shortUrl: 'https://s.test/a/B',
      longUrl: 'https://acme.com/',
      dateCreated: '2023-03-04T05:06:07+02:00',
    },
    ...{ tags: ['x'], domain: null, title: 'T', crawlable: true, forwardQuery: false, hasRedirectRules: true },
    meta: { validSince: '2023-01-01T00:00:00+00:00', validUntil: '2030-01-01T00:00:00+00:00', maxVisits: 10 },
    visitsSummary: { total: 9, nonBots: 6, bots: 3 },
    redirectRules: [
      rule('https://i.test', ios),
      rule('https://a.test', { type: 'device', matchValue: 'android' }),
      rule('https://de.test', { type: 'geolocation-country-code', matchValue: 'de' }),
      rule('https://late.test', ios),
      rule('https://l.test', { type: 'language', matchValue: 'fr' }),
      rule('https://two.test', ios, { type: 'language', matchValue: 'fr' }),
    ],
  };
  const [link] = shlinkLinks(record, {});
  expect(link).toMatchObject({
    domain: 's.test',
    key: 'a/B',
    createdAt: '2023-03-04T03:06:07.000Z',
    counts: { clicks: 6 },
  });
  expect(set(link?.fields ?? {})).toEqual({
    ...{ url: 'https://acme.com/', title: 'T', expiresAt: '2030-01-01T00:00:00.000Z', doIndex: true },
    ...{ ios: 'https://i.test', android: 'https://a.test', geo: { DE: 'https://de.test' } },
  });
  expect(lostFields(link?.lost ?? [])).toEqual([
    ...['meta.maxVisits', 'meta.validSince', 'forwardQuery', 'redirectRules', 'redirectRules'],
  ]);
});

it.each([
  ['has no rules any more', { hasRedirectRules: false }, ['android', 'geo', 'ios']],
  ['has one rule left', { redirectRules: [], deviceLongUrls: { ios: 'https://i.test' } }, ['android', 'geo']],
  ['is of a version without rules', { deviceLongUrls: { ios: null, android: 'https://a.test' } }, ['ios']],
  ['does not say', {}, []],
])('a link of Shlink that %s clears those targets only', (_what, fields, cleared) => {
  const [link] = shlinkLinks({ shortUrl: 'https://s.test/a', longUrl: 'https://acme.com/', ...fields }, {});
  expect(link?.cleared?.toSorted()).toEqual(cleared);
});

it('links of Kutt arrive with every field; of a password it is said that there was one', () => {
  const record = {
    ...{
      id: 'u',
      address: 'abc',
      target: 'https://acme.com/',
      description: 'D',
      domain: null,
      link: 'https://kutt.test/abc',
    },
    ...{
      expire_in: '2030-01-01T00:00:00.000Z',
      created_at: '2022-01-01T00:00:00.000Z',
      visit_count: 3,
      password: true,
    },
    ...{ banned: false, updated_at: '2022-01-01T00:00:00.000Z' },
  };
  const [link] = kuttLinks(record, {});
  expect(link).toMatchObject({
    ...{ domain: 'kutt.test', key: 'abc', createdAt: '2022-01-01T00:00:00.000Z', counts: { clicks: 3 } },
    fields: { url: 'https://acme.com/', comments: 'D', expiresAt: '2030-01-01T00:00:00.000Z' },
  });
  expect(lostFields(link?.lost ?? [])).toEqual(['password']);
});

it('a list is no record', () => expect(isObject([])).toBe(false));
