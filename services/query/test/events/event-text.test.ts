import { createEventId, deletedCustomer, type Link, PAYMENT_PROCESSORS, TRIGGERS } from '@waymark/contract';
import {
  type ClickFields,
  clickRow,
  EVENT_TABLES,
  type EventRow,
  leadRow,
  saleRow,
  splitPayload,
} from '@waymark/event-format';
import { aLinkRecord } from '@waymark/test-kit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EventPageRow, eventText, linkTexts } from '../../src/events/event-text.js';

const TIME = '2026-11-21T14:30:00.250Z';
const MS = Date.parse(TIME);

/** Texts that look like the structure of a payload. */
const LOOKALIKES = [
  '"click":{"id":"',
  ',"url":',
  ',"region":',
  '"qr":true}}',
  '},"metadata":',
  ',"paymentProcessor":"x","currency":',
  '{"v":1,"click":{"id":"',
  '\\',
  '\\"',
  '\u2028',
  '😀',
];
const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(...LOOKALIKES));
const words = fc.string({ unit: 'grapheme', maxLength: 12 });

const clickFields = fc.record({
  clickId: fc.integer({ min: 0, max: 2 ** 41 }).map(createEventId),
  timestampMs: fc.integer({ min: 0, max: 2 ** 42 - 1 }),
  trigger: fc.constantFrom(...TRIGGERS),
  url: texts,
  country: words,
  region: words,
  city: texts,
  continent: words,
  device: words,
  browser: texts,
  os: texts,
  userAgent: texts,
  referer: texts,
  refererUrl: texts,
  ip: words,
});

const metadata = fc.oneof(
  fc.constant(null),
  fc.dictionary(texts, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
  // Metadata may contain an object that looks like the click.
  fc.constant({ click: { id: 'x', timestamp: 'y', url: '', region: '' }, metadata: {}, sale: { amount: 1 }, qr: true }),
);

const LINK_NUMBER = '77';
const link = { ...aLinkRecord(), password: null, tags: [], clicks: 3 } as unknown as Link;
const CUSTOMER = deletedCustomer('cus_1');

function clickOf(fields: Omit<ClickFields, 'workspaceId' | 'linkId'>): ClickFields {
  return { workspaceId: '1', linkId: LINK_NUMBER, ...fields };
}

/** The fields of the response that all kinds of events have. */
function commonFields(fields: ClickFields) {
  const click = {
    id: fields.clickId,
    timestamp: new Date(fields.timestampMs).toISOString(),
    url: fields.url,
    country: fields.country,
    city: fields.city,
    region: fields.region === 'Unknown' ? 'Unknown' : `${fields.country}-${fields.region}`,
    continent: fields.continent,
    device: fields.device,
    browser: fields.browser,
    os: fields.os,
    ua: fields.userAgent,
    trigger: fields.trigger,
    referer: fields.referer,
    refererUrl: fields.refererUrl.split('?')[0],
    qr: fields.trigger === 'qr',
    ip: fields.ip,
  };
  const { url, continent, country, city, device, browser, os, ip } = click;
  return {
    click,
    link,
    ...{ click_id: click.id, link_id: link.id, domain: link.domain, key: link.key },
    ...{ url, continent, country, city, device, browser, os, qr: click.qr ? 1 : 0, ip },
  };
}

function itemOf(kind: 'clicks' | 'leads' | 'sales', payload: unknown, ip: string, eventName?: string): unknown {
  const row = ['event000000000id', TIME, LINK_NUMBER, String(payload), ip, eventName, '5'] as EventPageRow;
  return JSON.parse(eventText(kind, row, linkTexts(link), JSON.stringify(CUSTOMER)));
}

function payloadOf(kind: keyof typeof EVENT_TABLES, row: EventRow): unknown {
  return row[(EVENT_TABLES[kind].columns[1] as readonly string[]).indexOf('payload')];
}

test('the item of a click has exactly the recorded fields', () => {
  fc.assert(
    fc.property(clickFields, (given) => {
      const fields = clickOf(given);
      expect(itemOf('clicks', payloadOf('click', clickRow(fields)), fields.ip)).toEqual({
        event: 'click',
        timestamp: TIME,
        ...commonFields(fields),
      });
    }),
  );
});

test('the item of a lead has exactly the recorded fields', () => {
  fc.assert(
    fc.property(clickFields, texts, metadata, (given, eventName, meta) => {
      const fields = clickOf(given);
      const lead = { eventId: 'x', eventName, timestampMs: MS, customerId: '5', metadata: meta };
      expect(itemOf('leads', payloadOf('lead', leadRow(clickRow(fields), lead)), fields.ip, eventName)).toEqual({
        event: 'lead',
        timestamp: TIME,
        eventId: 'event000000000id',
        eventName,
        metadata: JSON.parse(JSON.stringify(meta)),
        customer: CUSTOMER,
        ...commonFields(fields),
      });
    }),
  );
});

test('the item of a sale has exactly the recorded fields', () => {
  const sales = fc.record({
    amount: fc.nat(),
    invoiceId: fc.option(texts, { nil: null }),
    paymentProcessor: fc.constantFrom(...PAYMENT_PROCESSORS),
    currency: fc.constantFrom('usd', 'eur'),
  });
  fc.assert(
    fc.property(clickFields, sales, texts, metadata, (given, sale, eventName, meta) => {
      const fields = clickOf(given);
      const lead = { eventId: 'x', eventName, timestampMs: MS, customerId: '5', metadata: meta };
      const row = saleRow(clickRow(fields), { ...lead, ...sale, saleType: 'new' });
      expect(itemOf('sales', payloadOf('sale', row), fields.ip, eventName)).toEqual({
        event: 'sale',
        timestamp: TIME,
        eventId: 'event000000000id',
        eventName,
        sale,
        saleAmount: sale.amount,
        invoice_id: sale.invoiceId ?? '',
        payment_processor: sale.paymentProcessor,
        metadata: JSON.parse(JSON.stringify(meta)),
        customer: CUSTOMER,
        ...commonFields(fields),
      });
    }),
  );
});

test.each(['', '{}', '{"v":2,"click":{"id":"x"}}', '{"v":1,"click":{"id":"x","qr":true}}', '{"v":1,"qr":false}}'])(
  'the malformed payload %s throws instead of giving a partial item',
  (payload) => {
    expect(() => splitPayload(payload)).toThrow('version 1');
  },
);
