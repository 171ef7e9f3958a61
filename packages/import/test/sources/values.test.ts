import { expect, it } from 'vitest';
import { addressOf, fieldsOf } from '../../src/model/fields.js';
import { isTimezone, timeOf } from '../../src/model/times.js';
import { csvFields, csvLinks } from '../../src/sources/csv.js';

it.each([
  ['2020-10-26T17:20:40+0000', '2020-10-26T17:20:40.000Z'],
  ['2020-10-26T17:20:40-05:30', '2020-10-26T22:50:40.000Z'],
  ['2020-10-26 17:20:40.5-05', '2020-10-26T22:20:40.500Z'],
  ['2020-10-26T17:20:40.123456Z', '2020-10-26T17:20:40.123Z'],
  ['2020-10-26', '2020-10-26T00:00:00.000Z'],
  [1603732840, '2020-10-26T17:20:40.000Z'],
  ['1603732840000', '2020-10-26T17:20:40.000Z'],
  ['2020-07-01 10:00:00', '2020-07-01T14:00:00.000Z'],
  ['2020-12-01 10:00', '2020-12-01T15:00:00.000Z'],
  ['', null],
  [null, null],
  ['0', null],
])('the time %j is %s', (value, expected) => {
  expect(timeOf('created', value, 'America/New_York')).toBe(expected);
});

it.each([
  ['10/26/2020', 'must be a time such as'],
  ['2020-02-30', 'no time that exists'],
  ['2020-01-01T25:00:00Z', 'no time that exists'],
  ['0001-01-01T00:00:00Z', 'not between the years'],
  ['2020-01-01 10:00:00', 'has no time zone'],
  ['0095-01-02T00:00:00Z', 'not between the years'],
  [{}, 'must be a time'],
])('the time %j is refused: %s', (value, message) => {
  expect(() => timeOf('created', value)).toThrow(message);
});

it('zones are those with names', () => {
  expect(['Europe/Berlin', 'UTC', '+02:00', 'Nowhere/Land'].map(isTimezone)).toEqual([true, true, false, false]);
});

it.each([
  ['https://go.acme.com/a/b?x#y', 'go.acme.com', 'a/b'],
  ['GO.acme.com/%C3%A9t%C3%A9', 'go.acme.com', 'été'],
  ['go.acme.com/50%', 'go.acme.com', '50%'],
  ['go.acme.com', 'go.acme.com', ''],
])('the address %s is %s and %s', (address, domain, key) => {
  expect(addressOf('link', address)).toEqual({ domain, key });
});

it('flags and counts are read in the forms of spreadsheets', () => {
  const fields = fieldsOf({ a: 'TRUE', b: 'no', c: '1,234', d: 'maybe', e: '1.5', f: '-1' });
  expect([fields.flag('a'), fields.flag('b'), fields.flag('missing'), fields.count('c')]).toEqual([
    true,
    false,
    false,
    1234,
  ]);
  expect(() => fields.flag('d')).toThrow('d must be true or false');
  expect(() => fields.count('e')).toThrow('e must be a whole number');
  expect(() => fields.count('f')).toThrow('f must be a whole number');
});

it('a hidden password in a table is lost, and leaves that of the link', () => {
  const [link] = csvLinks({ url: 'https://a.test', password: '********' }, {});
  expect([link?.fields.password, link?.lost.map(({ field }) => field)]).toEqual([null, ['password']]);
  expect(link?.cleared).toEqual([]);
});

it('counts with dots between their thousands, and values that are no numbers, are refused', () => {
  const counts = { a: '1.000', b: '12.000', c: '1.234.567', d: [7], e: [], f: true, h: '9.0', i: 1000 };
  const fields = fieldsOf(counts);
  for (const name of ['a', 'b', 'c']) expect(() => fields.count(name)).toThrow('must be written without dots');
  for (const name of ['d', 'e', 'f']) expect(() => fields.count(name)).toThrow('must be a whole number');
  expect([fields.count('h'), fields.count('i')]).toEqual([9, 1000]);
});

it('headings are understood in any order, case and spelling of the eight sources', () => {
  expect(csvFields(['Bitlink', 'Original URL', 'Title', 'Tags', 'Created', 'Total Clicks'])).toEqual([
    ...['shortLink', 'url', 'title', 'tags', 'createdAt', 'clicks'],
  ]);
  expect(csvFields(['visits', 'tags', 'title', 'longUrl', 'shortUrl', 'shortCode', 'domain', 'createdAt'])).toEqual([
    ...['clicks', 'tags', 'title', 'url', 'shortLink', 'key', 'domain', 'createdAt'],
  ]);
  expect(csvFields(['keyword', 'url', 'title', 'timestamp', 'ip', 'clicks'])).toEqual([
    ...['key', 'url', 'title', 'createdAt', 'ip', 'clicks'],
  ]);
  expect(csvFields([' SLASHTAG ', 'Destination', 'UTM-Source', 'iphone_url'])).toEqual([
    'key',
    'url',
    'utm_source',
    'ios',
  ]);
  expect(() => csvFields(['key', 'title'])).toThrow('no heading names the destination');
  expect(() => csvFields(['url', 'Long URL'])).toThrow('the headings "url" and "Long URL" name the same field');
});

it('a row of a table becomes a link with every field', () => {
  const [link] = csvLinks(
    {
      ...{
        shortLink: 'https://go.acme.com/a/B',
        url: ' https://acme.com ',
        title: 'T',
        description: 'D',
        comments: 'C',
      },
      ...{ tags: 'one|two, three', folder: 'F', createdAt: '2024-01-01', expiresAt: '2030-01-01', archived: 'yes' },
      ...{
        geo: '{"DE":"https://acme.de"}',
        ios: 'https://i.test',
        password: 'p',
        utm_source: 's',
        clicks: '3',
        ip: '::1',
      },
    },
    {},
  );
  expect(link).toMatchObject({
    ...{ domain: 'go.acme.com', key: 'a/B', folder: 'F', createdAt: '2024-01-01T00:00:00.000Z', counts: { clicks: 3 } },
    tags: [{ name: 'one' }, { name: 'two' }, { name: 'three' }],
    fields: {
      ...{
        url: 'https://acme.com',
        title: 'T',
        description: 'D',
        comments: 'C',
        expiresAt: '2030-01-01T00:00:00.000Z',
      },
      ...{ archived: true, geo: { DE: 'https://acme.de' }, ios: 'https://i.test', password: 'p', utm_source: 's' },
    },
    lost: [{ field: 'ip', value: '::1' }],
  });
  expect(() => csvLinks({ url: 'https://a.test', geo: '{' }, {})).toThrow('geo must be JSON');
  expect(() => csvLinks({ url: 'https://a.test', geo: '[1]' }, {})).toThrow('geo');
  const many = `{${Array.from({ length: 5_000 }, (_, index) => `"${index}":1`)}`;
  expect(() => csvLinks({ url: 'https://a.test', geo: many }, {})).toThrow('geo has more than 5000 values');
});

it('an address that is only a domain is that of the domain’s own link, unless the table has keys', () => {
  const row = { url: 'https://acme.com', shortLink: 'https://go.acme.com' };
  expect(csvLinks(row, {})).toMatchObject([{ domain: 'go.acme.com', key: '' }]);
  expect(csvLinks({ ...row, key: '' }, {})).toMatchObject([{ domain: 'go.acme.com', key: null }]);
  expect(csvLinks({ url: 'https://acme.com', domain: 'go.acme.com' }, {})).toMatchObject([{ key: null }]);
});
