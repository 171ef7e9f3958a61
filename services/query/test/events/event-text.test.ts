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

/** Texts that look like the structure of a payload, beside any others. */
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

const clickFacts = fc.record({
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
  // Metadata may hold what a click looks like, as structure and not only as text.
  fc.constant({ click: { id: 'x', timestamp: 'y', url: '', region: '' }, metadata: {}, sale: { amount: 1 }, qr: true }),
);

const LINK_NUMBER = '77';
const link = { ...aLinkRecord(), password: null, tags: [], clicks: 3 } as unknown as Link;
const CUSTOMER = deletedCustomer('cus_1');

function factsOf(facts: Omit<ClickFields, 'workspaceId' | 'linkId'>): ClickFields {
  return { workspaceId: '1', linkId: LINK_NUMBER, ...facts };
}

/** The fields that every event has, from the facts it was recorded with. */
function commonFields(facts: ClickFields) {
  const click = {
    id: facts.clickId,
    timestamp: new Date(facts.timestampMs).toISOString(),
    url: facts.url,
    country: facts.country,
    city: facts.city,
    region: facts.region === 'Unknown' ? 'Unknown' : `${facts.country}-${facts.region}`,
    continent: facts.continent,
    device: facts.device,
    browser: facts.browser,
    os: facts.os,
    ua: facts.userAgent,
    trigger: facts.trigger,
    referer: facts.referer,
    refererUrl: facts.refererUrl.split('?')[0],
    qr: facts.trigger === 'qr',
    ip: facts.ip,
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

test('a click is answered with exactly what it was recorded with', () => {
  fc.assert(
    fc.property(clickFacts, (given) => {
      const facts = factsOf(given);
      expect(itemOf('clicks', payloadOf('click', clickRow(facts)), facts.ip)).toEqual({
        event: 'click',
        timestamp: TIME,
        ...commonFields(facts),
      });
    }),
  );
});

test('a lead is answered with exactly what it was recorded with', () => {
  fc.assert(
    fc.property(clickFacts, texts, metadata, (given, eventName, meta) => {
      const facts = factsOf(given);
      const lead = { eventId: 'x', eventName, timestampMs: MS, customerId: '5', metadata: meta };
      expect(itemOf('leads', payloadOf('lead', leadRow(clickRow(facts), lead)), facts.ip, eventName)).toEqual({
        event: 'lead',
        timestamp: TIME,
        eventId: 'event000000000id',
        eventName,
        metadata: JSON.parse(JSON.stringify(meta)),
        customer: CUSTOMER,
        ...commonFields(facts),
      });
    }),
  );
});

test('a sale is answered with exactly what it was recorded with', () => {
  const sales = fc.record({
    amount: fc.nat(),
    invoiceId: fc.option(texts, { nil: null }),
    paymentProcessor: fc.constantFrom(...PAYMENT_PROCESSORS),
    currency: fc.constantFrom('usd', 'eur'),
  });
  fc.assert(
    fc.property(clickFacts, sales, texts, metadata, (given, sale, eventName, meta) => {
      const facts = factsOf(given);
      const lead = { eventId: 'x', eventName, timestampMs: MS, customerId: '5', metadata: meta };
      const row = saleRow(clickRow(facts), { ...lead, ...sale, saleType: 'new' });
      expect(itemOf('sales', payloadOf('sale', row), facts.ip, eventName)).toEqual({
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
        ...commonFields(facts),
      });
    }),
  );
});

test.each(['', '{}', '{"v":2,"click":{"id":"x"}}', '{"v":1,"click":{"id":"x","qr":true}}', '{"v":1,"qr":false}}'])(
  'the payload %s is refused, not answered half',
  (payload) => {
    expect(() => splitPayload(payload)).toThrow('version 1');
  },
);
