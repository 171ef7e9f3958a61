import { ApiError, eventsQuerySchema } from '@waymark/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse, parseCursor } from '../src/index.js';

const NOW = Date.parse('2026-11-21T14:30:00Z');

function parsed(query: Record<string, string>) {
  return parse(eventsQuerySchema.parse(query), NOW);
}

function filters(query: Record<string, string>) {
  return parsed(query).filters;
}

const list = (parameter: string, include: string[], exclude: string[] = []) => ({
  type: 'list',
  parameter,
  values: { include, exclude },
});

test('without parameters, a request means the newest hundred clicks of the last 24 hours', () => {
  expect(parsed({})).toMatchObject({
    kind: 'clicks',
    filters: [],
    link: undefined,
    range: { fromMs: NOW - 24 * 3_600_000, toMs: NOW, zone: 'UTC' },
    page: { direction: 'DESC', limit: 100, offset: 0n },
  });
});

test.each([
  [{ order: 'desc', sortOrder: 'asc' }, 'ASC'],
  [{ order: 'asc', sortOrder: 'desc' }, 'ASC'],
  [{ order: 'desc', sortOrder: 'desc' }, 'DESC'],
  [{ order: 'asc' }, 'ASC'],
  [{ sortOrder: 'asc' }, 'ASC'],
])('%j sorts %s: order=desc, which the SDK always sends, does not override sortOrder', (query, direction) => {
  expect(parsed(query).page.direction).toBe(direction);
});

test('the offset of the last possible page is exact, though it exceeds a safe integer', () => {
  expect(parsed({ page: '9007199254740991', limit: '999' }).page.offset).toBe(9007199254740990n * 999n);
});

test('values are converted to their stored form', () => {
  expect(filters({ country: 'us,-br,unknown' })).toEqual([list('country', ['US', 'Unknown'], ['BR'])]);
  expect(filters({ region: 'us-ca,fr-unknown,-ny' })).toEqual([list('region', ['US-CA', 'FR-Unknown'], ['NY'])]);
  expect(filters({ domain: 'Go.Acme.COM' })).toEqual([list('domain', ['go.acme.com'])]);
  expect(filters({ domain: '-Go.Bücher.de' })).toEqual([list('domain', [], ['go.xn--bcher-kva.de'])]);
  expect(filters({ country: 'UK,-el' })).toEqual([list('country', ['GB'], ['GR'])]);
  expect(filters({ region: 'uk-eng,-EL-A,UK' })).toEqual([list('region', ['GB-ENG', 'UK'], ['GR-A'])]);
  expect(filters({ referer: 'WWW.Google.com,(direct),-www.Bücher.de' })).toEqual([
    list('referer', ['google.com', '(direct)'], ['xn--bcher-kva.de']),
  ]);
  expect(filters({ os: 'Mac OS,-iOS' })).toEqual([list('os', ['mac os'], ['ios'])]);
  expect(filters({ city: 'São Paulo', utm_source: 'Google' })).toEqual([
    list('city', ['São Paulo']),
    list('utm_source', ['Google']),
  ]);
});

test.each([
  ['continent', 'EU,XX'],
  ['continent', '-eu'],
  ['trigger', 'link,-email'],
  ['domain', 'https://go.acme.com'],
  ['country', 'USA'],
  ['country', 'FR,-ß'],
  ['country', 'France'],
  ['region', 'US-California'],
  ['region', 'California'],
  ['region', 'US-CA-LA'],
  ['region', 'CA-'],
  ['referer', 'https://t.co'],
  ['refererUrl', 'https://t.co/a?b=c'],
  ['url', 'https://acme.com/?utm_source=x'],
])('%s=%s is refused, because no event can have the value', (parameter, value) => {
  expect(() => parsed({ [parameter]: value })).toThrow(
    expect.objectContaining({ code: 'unprocessable_entity', message: expect.stringContaining(`: ${parameter}: `) }),
  );
});

test.each(['linkId', 'tagId', 'partnerId', 'partnerTagId', 'groupId'])(
  'ids are opaque: %s takes a text of any form',
  (parameter) => {
    const many = Array.from({ length: 1000 }, (_, index) => `nope ${index}`);
    expect(filters({ [parameter]: 'nope,-link_a' })).toEqual([list(parameter, ['nope'], ['link_a'])]);
    expect(filters({ [parameter]: '-\0nope' })).toEqual([list(parameter, [], ['\0nope'])]);
    expect(filters({ [parameter]: many.join(',') })).toEqual([list(parameter, many)]);
    expect(() => filters({ [parameter]: [...many, 'x'].join(',') })).toThrow('at most 1000 items');
  },
);

test('a malformed metadata query is refused with the name of the parameter, even for clicks, which ignore it', () => {
  for (const event of ['clicks', 'leads', 'sales']) {
    expect(() => parsed({ event, query: 'plan:pro' })).toThrow(
      expect.objectContaining({
        code: 'unprocessable_entity',
        message: expect.stringMatching(/^invalid_format: query: /),
      }),
    );
  }
});

test('the folder to look up is the first one in the list, included or excluded', () => {
  const folders = ['fold_a,fold_b', '-fold_a', ',,-fold_b,fold_a', undefined].map(
    (folderId) => parsed({ ...(folderId && { folderId }) }).folderId,
  );
  expect(folders).toEqual(['fold_a', 'fold_a', 'fold_b', undefined]);
});

test('a parameter without values is no filter', () => {
  expect(filters({ folderId: ',', groupId: '-', query: '' })).toEqual([]);
});

test.each(['qr', 'pageview,qr', '-', ',,', '-,-qr', 'qr,', ''])(
  'qr is ignored beside trigger=%s only if that has a value',
  (trigger) => {
    const own = filters({ trigger });
    expect(filters({ trigger, qr: 'true' })).toEqual(own.length > 0 ? own : [list('trigger', ['qr'])]);
    expect(own.length > 0).toBe(trigger.includes('qr'));
  },
);

test.each([
  ['a thousand items', 1000, ''],
  ['a thousand items and an empty one', 1000, ','],
  ['a thousand items between empty ones', 1000, ',-,,'],
  ['a thousand excluded items', 1000, '-,'],
  ['a thousand and one items', 1001, ''],
  ['a thousand and one empty items', 0, ','.repeat(1001)],
])('tagIds takes what tagId takes: %s', (_what, count, around) => {
  const text = around + Array.from({ length: count }, (_, index) => `tag_${index}`).join(',') + around;
  const outcome = (query: Record<string, string>) => {
    try {
      return filters(query);
    } catch (err) {
      return String(err).replace('tagIds', 'tagId');
    }
  };
  expect(outcome({ tagIds: text })).toEqual(outcome({ tagId: text }));
  expect(typeof outcome({ tagIds: text }) === 'string').toBe(count > 1000);
});

test('deprecated tagIds and qr are ignored if tagId or trigger is given', () => {
  expect(filters({ tagIds: 'tag_a,-tag_b' })).toEqual([list('tagId', ['tag_a'], ['tag_b'])]);
  expect(filters({ tagIds: 'tag_a', tagId: 'tag_c' })).toEqual([list('tagId', ['tag_c'])]);
  expect(filters({ tagIds: 'tag_a', tagId: ',' })).toEqual([list('tagId', ['tag_a'])]);
  expect(filters({ qr: 'true' })).toEqual([list('trigger', ['qr'])]);
  expect(filters({ qr: 'false' })).toEqual([list('trigger', ['link'])]);
  expect(filters({ qr: 'true', trigger: 'pageview' })).toEqual([list('trigger', ['pageview'])]);
});

test('a key selects a link of its domain and replaces the domain filter', () => {
  const { link, filters: others } = parsed({ domain: 'Go.acme.com,b.com', key: 'Try', country: 'FR' });
  expect(link).toEqual({ by: 'address', domain: 'go.acme.com', key: 'Try' });
  expect(others).toEqual([list('country', ['FR'])]);
});

test.each<Record<string, string>>([
  { key: 'try' },
  { key: 'try', domain: '-go.acme.com' },
  { key: 'try', domain: ',' },
  { key: 'try', linkId: 'link_x' },
])('a key without the domain it belongs to is a bad request: %j', (query) => {
  expect(() => parsed(query)).toThrow(expect.objectContaining({ code: 'bad_request' }));
});

test('an external id selects a link, and is refused without its prefix', () => {
  expect(parsed({ externalId: 'ext_a/b', domain: 'go.acme.com' })).toMatchObject({
    link: { by: 'externalId', externalId: 'a/b' },
    filters: [],
  });
  expect(() => parsed({ externalId: 'ab' })).toThrow(
    expect.objectContaining({ code: 'bad_request', message: 'invalid_format: externalId: must begin with "ext_"' }),
  );
});

test('linkId is a plain filter, and overrides other ways to select a link', () => {
  const { link, filters: all } = parsed({ linkId: 'link_a', externalId: 'ext_b', domain: 'go.acme.com', key: 'x' });
  expect(link).toBeUndefined();
  expect(all).toEqual([list('domain', ['go.acme.com']), list('linkId', ['link_a'])]);
});

test('a customer is selected by id or by external id', () => {
  for (const id of ['cus_1', 'ada@example.com', '\0']) {
    expect(filters({ customerId: id })).toEqual([{ type: 'customer', customer: { by: 'id', id } }]);
  }
  expect(filters({ customerId: 'ext_1' })).toEqual([
    { type: 'customer', customer: { by: 'externalId', externalId: '1' } },
  ]);
});

test('parse throws only ApiError, for any parameters', () => {
  const names = Object.keys(eventsQuerySchema.out.shape);
  const value = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(
      '-',
      ',',
      '-,',
      'US,-BR',
      'true',
      '0',
      '2026-01-01',
      'ext_',
      "' OR 1=1 --",
      '{p0:String}',
      '\0',
      '😀',
    ),
    // Long, of few characters: random ones took most of the CPU time of this file.
    fc.constantFrom('x', ',', '-,', ' ', "'").map((unit) => unit.repeat(10_000 / unit.length)),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }), (query) => {
      const valid = eventsQuerySchema.safeParse(query);
      if (!valid.success) return;
      try {
        parse(valid.data, NOW, parseCursor({ query: valid.data, workspaceId: 'ws_00000000001' }));
      } catch (err) {
        expect(err).toBeInstanceOf(ApiError);
      }
    }),
    { numRuns: 1000 },
  );
});
