import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, createEventId, createResourceId, parseResourceId } from '@waymark/contract';
import { clickRow, clickRowText, leadRow, saleRow } from '@waymark/event-format';
import { clickClaim, createEventProducer, customerClaim, invoiceClaim } from '@waymark/event-queue';
import type { Acknowledged, ProducerReport, ProducerTask } from './messages.js';

// A process that records events and reports the acknowledged ones. It is killed at random times.

const task = JSON.parse(process.argv[2] ?? '{}') as ProducerTask;
const LINKS = 7;
const DAY_MS = 24 * 3_600_000;
const REPORT_MS = 5;
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const producer = createEventProducer({
  redisUrl: task.redisUrl,
  waitReplicas: task.waitReplicas,
  spoolDirectory: task.spoolDirectory,
  logger: silent,
});

let isStopping = false;
let acknowledged: Acknowledged[] = [];
let failedClicks: string[] = [];
let refusals: Record<string, number> = {};

function report(): void {
  if (acknowledged.length + failedClicks.length + Object.keys(refusals).length === 0) return;
  process.send?.({ acknowledged, failedClicks, refusals } satisfies ProducerReport);
  acknowledged = [];
  failedClicks = [];
  refusals = {};
}

function clickOf(number: number, timestampMs: number, userAgent: string) {
  return {
    workspaceId: task.workspaceId,
    linkId: String(1 + (number % LINKS)),
    clickId: createEventId(timestampMs),
    timestampMs,
    trigger: 'link' as const,
    url: `https://acme.com/${number}?utm_source=faults`,
    country: 'FR',
    region: 'IDF',
    city: 'Paris',
    continent: 'EU',
    device: 'Desktop',
    browser: 'Firefox',
    os: 'Windows',
    userAgent,
    referer: '(direct)',
    refererUrl: '(direct)',
    ip: '192.0.2.1',
  };
}

let clicks = 0;
let lastVisitor = '';

/** Every tenth visitor clicks twice: the id returned the second time must be that of a stored click. */
async function recordClick(): Promise<void> {
  const number = clicks++;
  const { padding } = task;
  const isPadded = padding !== undefined && number % padding.every === 0;
  const visitor = number % 10 === 9 ? lastVisitor : `${task.prefix}-${process.pid}-${number}`;
  lastVisitor = visitor;
  const facts = clickOf(number, Date.now(), isPadded ? 'é'.repeat(padding.characters) : 'Mozilla/5.0');
  try {
    const rowText = clickRowText(facts);
    const { clickId, isNew } = await producer.recordClick({
      claim: clickClaim('link', visitor),
      clickId: facts.clickId,
      rowText,
    });
    acknowledged.push({ kind: 'click', id: clickId, isNew });
  } catch (err) {
    failedClicks.push(String(err));
  }
}

interface SaleAnswer {
  readonly id: string;
  readonly customerId: string;
}

/** One attempt to record a sale as `/track/sale` does: claims, then one commit. Undefined: to be retried. */
async function trySale(invoice: number): Promise<SaleAnswer | undefined> {
  const externalId = `${task.prefix}-customer-${invoice}`;
  const invoiceId = `${task.prefix}-${invoice}`;
  const owner = `${process.pid}-${invoice}-${Math.random()}`;
  const names = [invoiceClaim(task.workspaceId, invoiceId), customerClaim(task.workspaceId, externalId)];
  const held = await producer.claims.take(names, owner);
  if (!held.every(({ state }) => state === 'mine')) {
    await producer.claims.release(names, owner);
    return held[0]?.state === 'final' ? (JSON.parse(held[0].value) as SaleAnswer) : undefined;
  }
  try {
    const now = Date.now();
    const customerId = parseResourceId('customer', createResourceId('customer', now)) ?? '0';
    const facts = { timestampMs: now, customerId, metadata: { invoice } };
    const click = clickRow(clickOf(invoice, now, 'Mozilla/5.0'));
    const lead = leadRow(click, { ...facts, eventId: createEventId(now), eventName: 'Sign up' });
    const id = createEventId(now);
    const sale = saleRow(click, {
      ...facts,
      eventId: id,
      eventName: 'Purchase',
      amount: 100 + (invoice % 50),
      currency: 'usd',
      invoiceId,
      paymentProcessor: 'custom',
      saleType: 'new',
    });
    const customer = [task.workspaceId, customerId, 1, 0, externalId, '', 'FR', '1', now, '{}'];
    const answer: SaleAnswer = { id, customerId };
    await producer.commit({
      rows: [
        { kind: 'customer', row: customer },
        { kind: 'lead', row: lead },
        { kind: 'sale', row: sale },
      ],
      finals: names.map((name) => ({ name, owner, value: JSON.stringify(answer), ttlMs: DAY_MS })),
    });
    return answer;
  } catch (err) {
    await producer.claims.release(names, owner).catch(() => undefined);
    throw err;
  }
}

async function recordSale(invoice: number): Promise<void> {
  while (!isStopping) {
    try {
      const answer = await trySale(invoice);
      if (answer !== undefined) {
        acknowledged.push({ kind: 'sale', invoice, ...answer });
        return;
      }
    } catch (err) {
      const status = err instanceof ApiError ? String(err.status) : String(err);
      refusals[status] = (refusals[status] ?? 0) + 1;
    }
    await delay(50);
  }
}

let nextInvoice = task.firstInvoice;
const loop = async (work: () => Promise<void>) => {
  while (!isStopping) {
    await work();
    if (task.pauseMs > 0) await delay(task.pauseMs);
  }
};
const loops = [
  ...Array.from({ length: task.clicks }, () => loop(recordClick)),
  ...Array.from({ length: task.sales }, () => loop(() => recordSale(nextInvoice++))),
];
const reporting = setInterval(report, REPORT_MS);

process.once('message', async () => {
  isStopping = true;
  await Promise.all(loops);
  await producer.close();
  clearInterval(reporting);
  report();
  process.disconnect();
});
