import { clickSchema, METADATA_PAIRS_BYTES_MAX, metadataPairsBytes } from '@waymark/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ClickFields,
  clickRow,
  clickRowText,
  EVENT_TABLES,
  type EventRow,
  leadRow,
  metadataPairs,
  PAYLOAD_HEAD,
  PAYLOAD_TAIL,
  saleRow,
} from '../src/index.js';

const fields: ClickFields = {
  workspaceId: '7',
  linkId: '8',
  clickId: 'L1rEaERPoKMKI30k',
  timestampMs: 1_760_000_000_000,
  trigger: 'qr',
  url: 'https://acme.com/a?utm_source=news%20letter&utm_term=a+b#part',
  country: 'US',
  region: 'CA',
  city: 'San José "quoted"',
  continent: 'NA',
  device: 'Desktop',
  browser: 'Chrome',
  os: 'Mac OS',
  userAgent: 'Mozilla/5.0',
  referer: 'news.example',
  refererUrl: 'https://news.example/page?session=1',
  ip: '203.0.113.7',
};

function column(kind: keyof typeof EVENT_TABLES, row: EventRow, name: string): unknown {
  const columns: readonly string[] = EVENT_TABLES[kind].columns[1];
  expect(row).toHaveLength(columns.length);
  return row[columns.indexOf(name)];
}

function withIp(payload: string, ip: string): Record<string, unknown> {
  expect(payload.startsWith(PAYLOAD_HEAD) && payload.endsWith(PAYLOAD_TAIL)).toBe(true);
  return JSON.parse(`{${payload.slice(PAYLOAD_HEAD.length, -PAYLOAD_TAIL.length)},"ip":${JSON.stringify(ip)}}}`);
}

test('the payload of a click plus its IP address is the click object of the API', () => {
  const row = clickRow(fields);
  const members = withIp(String(column('click', row, 'payload')), '203.0.113.7');
  expect(clickSchema.parse(members.click)).toMatchObject({
    region: 'US-CA',
    qr: true,
    refererUrl: 'https://news.example/page',
  });
});

test('the payload equals JSON.stringify of the click object', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(text, text, text, (city, userAgent, referer) => {
      const payload = String(column('click', clickRow({ ...fields, city, userAgent, referer }), 'payload'));
      const { click } = JSON.parse(payload) as { click: Record<string, unknown> };
      expect(click).toMatchObject({ city, ua: userAgent, referer });
      expect(payload).toBe(JSON.stringify({ v: 1, click }));
    }),
  );
});

test('UTM values are decoded, and a URL is also stored without its query', () => {
  const row = clickRow(fields);
  expect(column('click', row, 'utm_source')).toBe('news letter');
  expect(column('click', row, 'utm_term')).toBe('a b');
  expect(column('click', row, 'utm_medium')).toBe('');
  expect(column('click', row, 'url_base')).toBe('https://acme.com/a');
  expect(column('click', row, 'referer_url')).toBe('https://news.example/page');
});

test.each([
  ['https://app.example/#/page?utm_source=x', ''],
  ['https://app.example/?utm_source=x#/page?utm_source=y', 'x'],
  ['https://app.example/?a=1#utm_source=y', ''],
  ['https://app.example/?a=1&utm%5Fsource=x', 'x'],
  ['https://app.example/?%75tm_sourc%65=x', 'x'],
  ['https://app.example/utm%5Fsource=x?a=%5F', ''],
])('UTM values come from the query, not from a fragment, even with percent-encoded names: %s', (url, source) => {
  expect(column('click', clickRow({ ...fields, url }), 'utm_source')).toBe(source);
});

test('the members url to os are adjacent in the payload and can be cut out of it, whatever their values contain', () => {
  const text = fc.string({ unit: 'grapheme' });
  fc.assert(
    fc.property(text, text, text, (url, city, os) => {
      const payload = String(column('click', clickRow({ ...fields, url, city, os }), 'payload'));
      const run = payload.slice(payload.indexOf('"url":'), payload.indexOf(',"region":'));
      expect(JSON.parse(`{${run}}`)).toEqual({
        url,
        continent: 'NA',
        country: 'US',
        city,
        device: 'Desktop',
        browser: 'Chrome',
        os,
      });
    }),
  );
});

test('a lead and a sale have all attributes and the time of their click', () => {
  const click = clickRow(fields);
  const lead = leadRow(click, {
    eventId: 'L1rEaERPoKMKI30z',
    eventName: 'Sign up',
    timestampMs: fields.timestampMs + 5,
    customerId: '9',
    metadata: { plan: 'pro' },
  });
  expect(column('lead', lead, 'click_timestamp')).toBe(fields.timestampMs);
  expect(column('lead', lead, 'city')).toBe(fields.city);
  expect(withIp(String(column('lead', lead, 'payload')), '')).toMatchObject({
    metadata: { plan: 'pro' },
    click: { id: fields.clickId },
  });

  const sale = saleRow(click, {
    eventId: 'L1rEaERPoKMKI30y',
    eventName: 'Paid',
    timestampMs: fields.timestampMs + 9,
    customerId: '9',
    metadata: null,
    amount: 2900,
    currency: 'usd',
    invoiceId: 'INV_1',
    paymentProcessor: 'stripe',
    saleType: 'new',
  });
  expect(column('sale', sale, 'amount')).toBe(2900);
  expect(column('sale', sale, 'invoice_id')).toBe('INV_1');
  expect(withIp(String(column('sale', sale, 'payload')), '')).toMatchObject({
    sale: { amount: 2900, invoiceId: 'INV_1', paymentProcessor: 'stripe', currency: 'usd' },
    metadata: null,
  });
});

test('metadata has one pair with the full path for each scalar', () => {
  expect(metadataPairs({ plan: 'pro', seats: 25, trial: true, note: null, a: { 'b.c=d\\': [1, { e: 'f' }] } })).toEqual(
    ['plan=pro', 'seats=25', 'trial=true', 'note=null', 'a.b\\.c\\=d\\\\.0=1', 'a.b\\.c\\=d\\\\.1.e=f'],
  );
});

test('an empty object or list has a pair of its own, which differs from that of any key', () => {
  expect(metadataPairs({ a: {}, b: [[], { c: {} }], '': {} })).toEqual(['a.\\-=', 'b.0.\\-=', 'b.1.c.\\-=', '.\\-=']);
  expect(metadataPairs({ a: { '\\-': '' } })).toEqual(['a.\\\\-=']);
});

test('NUL and lone surrogates are replaced by U+FFFD, in keys and in values', () => {
  expect(metadataPairs({ 'a\0': 'x\0y', '\ud800': '\udc00' })).toEqual(['a\ufffd=x\ufffdy', '\ufffd=\ufffd']);
});

test('the size of the pairs is computed exactly, without making them', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '.', '=', '\\', '"', '\ud800', '\0', 'é'));
  const { metadata } = fc.letrec<{ metadata: Record<string, unknown>; value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      tie('metadata'),
    ),
    metadata: fc.dictionary(text, tie('value'), { maxKeys: 4 }),
  }));
  fc.assert(
    fc.property(metadata, (sent) => {
      const pairs = metadataPairs(sent);
      const bytes = pairs.reduce((sum, pair) => sum + Buffer.byteLength(`${JSON.stringify(pair)},`), 0);
      expect(metadataPairsBytes(sent, Number.POSITIVE_INFINITY)).toBe(bytes);
    }),
    { numRuns: 1000 },
  );
});

test('the size of pairs is counted to the limit only', () => {
  const metadata = { ['.'.repeat(4_980)]: Array(2_500).fill(1) };
  expect(metadataPairsBytes(metadata, Number.POSITIVE_INFINITY)).toBeGreaterThan(37_000_000);
  expect(metadataPairsBytes(metadata, METADATA_PAIRS_BYTES_MAX)).toBeLessThan(METADATA_PAIRS_BYTES_MAX + 15_000);
});

test('two different paths never give the same pair', () => {
  const signs = ['a', '.', '=', '\\'];
  const keys = ['', ...signs, ...signs.flatMap((first) => signs.map((second) => first + second))];
  const longer = (paths: string[][]) => paths.flatMap((path) => keys.map((key) => [...path, key]));
  const ofTwo = longer(longer([[]]));
  const paths = [...longer([[]]), ...ofTwo, ...longer(ofTwo)];
  const nest = (path: string[]) => path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), 'x');
  const pairs = paths.map((path) => metadataPairs(nest(path) as Record<string, unknown>).join());
  expect(new Set(pairs).size).toBe(21 + 21 ** 2 + 21 ** 3);
});

test('clickRowText equals the row as JSON, for any text', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('Unknown', '(direct)', ''));
  const url = fc
    .tuple(fc.webUrl({ withQueryParameters: true }), fc.constantFrom('utm_source', 'utm_term', 'n'), text)
    .map(
      ([base, name, value]) =>
        `${base}${base.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value.replace(/[\ud800-\udfff]/g, ''))}`,
    );
  const parts = { region: text, city: text, browser: text, userAgent: text, referer: text, refererUrl: text, ip: text };
  fc.assert(
    fc.property(fc.record({ ...parts, url: fc.oneof(url, text) }), fc.boolean(), (some, isQr) => {
      const click: ClickFields = { ...fields, ...some, trigger: isQr ? 'qr' : 'link' };
      expect(clickRowText(click)).toBe(JSON.stringify(clickRow(click)));
    }),
    { numRuns: 2000 },
  );
});
