import { type HistoryItem, type HistorySource, importEvents, type PastEvent, parseDomainMap } from '@waymark/import';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';

// An import of past events beside live requests to /track: each customer is created once, and each invoice recorded once, whichever
// of them comes first.

let two: TwoApis;
beforeAll(async () => {
  two = await startTwoApis();
}, 180_000);
afterAll(() => two.close());

const SOLD_MS = Date.parse('2026-01-02T03:04:05.678Z');
const place = { country: 'DE', region: undefined, city: undefined, continent: undefined };
const silent = () => undefined;
const ignore = async () => undefined;

function past(kind: 'lead' | 'sale', externalId: string, invoiceId: string | null = null): PastEvent {
  const click = {
    ...{
      address: { domain: 'old.test', key: 'tracked' },
      timeMs: SOLD_MS - 60_000,
      identity: `click of ${externalId}`,
    },
    ...{ alias: null, url: null, place, device: null, browser: null, os: null, userAgent: '', referrer: null },
    trigger: 'link' as const,
  };
  const customer = { externalId, name: 'Past', email: null, avatar: null, stripeCustomerId: null, country: null };
  const event = {
    ...{ timeMs: SOLD_MS, identity: `${kind} of ${externalId} ${invoiceId}`, eventName: 'Past', metadata: null, click },
    customer: { ...customer, createdAt: null, address: null },
  };
  return kind === 'lead'
    ? { kind, ...event }
    : { kind, ...event, amount: 100, currency: 'usd', invoiceId, paymentProcessor: 'stripe' };
}

function historyOf(events: readonly PastEvent[]): HistorySource {
  const items: HistoryItem[] = events.map((event, row) => ({ row, record: {}, event }));
  return {
    identity: `history of ${events.length}`,
    async *read(from) {
      if (from === undefined) yield { items, next: 'end' };
    },
  };
}

const importPast = (events: readonly PastEvent[]) =>
  two.withCatalog(async (catalog) => {
    const workspace = await catalog.workspaces.get(two.workspaceId);
    if (workspace === undefined) throw new Error('no workspace');
    return importEvents(historyOf(events), {
      deps: { catalog, defaultDomain: undefined, now: Date.now },
      stores: { queues: [two.redisClient], clickhouse: two.database.client },
      ...{ workspace, source: 'dub', domains: parseDomainMap([two.domain]), retentionDays: undefined, isDry: false },
      report: { rejected: ignore, continued: ignore, save: ignore, progress: silent },
      logger: { debug: silent, info: silent, warn: silent, error: silent },
    });
  });

/** As a caller that heeds `Retry-After`: a claim may be held while a batch is imported. */
const RETRYING = {
  retries: {
    strategy: 'backoff',
    backoff: { initialInterval: 50, maxInterval: 500, exponent: 1.5, maxElapsedTime: 60_000 },
  },
} as const;

async function liveLead(customerExternalId: string): Promise<void> {
  const clickId = await two.aClick(two.apis[0]);
  await two.apis[0].dub.track.lead({ clickId, eventName: 'Live', customerExternalId }, RETRYING);
}

const liveSale = (customerExternalId: string, invoiceId: string) =>
  two.apis[1].dub.track.sale({ customerExternalId, invoiceId, amount: 200, paymentProcessor: 'stripe' }, RETRYING);

interface Sale {
  readonly eventName: string;
  readonly customer: { readonly externalId: string };
  readonly sale: { readonly invoiceId: string | null };
}

async function listSales(filter: { readonly saleType?: 'new' } = {}): Promise<readonly Sale[]> {
  const { dub } = two.apis[0];
  return (await dub.events.list({
    event: 'sales',
    interval: 'all',
    limit: 1000,
    ...filter,
  })) as unknown as readonly Sale[];
}

/** All sales, once the writer has stored what is queued. */
async function storedSales(): Promise<readonly Sale[]> {
  const marker = `marker-${Date.now()}`;
  await liveLead(marker);
  await liveSale(marker, marker);
  const isStored = async () => (await listSales()).some(({ sale }) => sale.invoiceId === marker);
  await waitFor(isStored, { what: 'the last sale' });
  return listSales();
}

const invoicesOf = (sales: readonly Sale[], prefix: string) =>
  sales.flatMap(({ sale }) => (sale.invoiceId?.startsWith(prefix) ? [sale.invoiceId] : [])).toSorted();

async function countOf(externalId: string): Promise<number> {
  return (await two.apis[1].dub.customers.list({ externalId })).result.length;
}

it('invoices and customers in the queue are not imported again', async () => {
  two.writer.kill('SIGSTOP');
  const numbers = [0, 1, 2, 3, 4];
  for (const n of numbers) {
    await liveLead(`queued-${n}`);
    await liveSale(`queued-${n}`, `queued-invoice-${n}`);
  }
  const counts = await importPast(
    numbers.flatMap((n) => [
      past('sale', `queued-${n}`, `queued-invoice-${n}`),
      past('sale', `queued-${n}`, `queued-invoice-past-${n}`),
    ]),
  );
  two.writer.kill('SIGCONT');
  expect(counts).toMatchObject({ sales: 5, repeated: 5, customers: 0, rejected: 0 });
  const sales = await storedSales();
  expect(invoicesOf(sales, 'queued-invoice-')).toEqual(
    numbers.flatMap((n) => [`queued-invoice-${n}`, `queued-invoice-past-${n}`]).toSorted(),
  );
  expect(await Promise.all(numbers.map((n) => countOf(`queued-${n}`)))).toEqual(numbers.map(() => 1));
});

it('an imported invoice is answered with the imported sale', async () => {
  await importPast([past('sale', 'imported', 'imported-invoice')]);
  const { sale, customer } = await liveSale('imported', 'imported-invoice');
  expect(sale).toMatchObject({ amount: 100, invoiceId: 'imported-invoice' });
  expect(customer).toMatchObject({ externalId: 'imported', name: 'Past' });
  expect(invoicesOf(await storedSales(), 'imported-invoice')).toEqual(['imported-invoice']);
});

it('customers and invoices that are reported while they are imported exist once', { timeout: 120_000 }, async () => {
  const numbers = Array.from({ length: 60 }, (_, n) => n);
  const importing = importPast(
    numbers.flatMap((n) => [past('lead', `both-${n}`), past('sale', `both-${n}`, `both-invoice-${n}`)]),
  );
  const reporting = Promise.all(
    numbers.map(async (n) => {
      await liveLead(`both-${n}`);
      await liveSale(`both-${n}`, `both-invoice-${n}`);
    }),
  );
  const [counts] = await Promise.all([importing, reporting]);
  expect(counts).toMatchObject({ rejected: 0 });
  expect(invoicesOf(await storedSales(), 'both-invoice-')).toEqual(numbers.map((n) => `both-invoice-${n}`).toSorted());
  const counted = await Promise.all(numbers.map((n) => countOf(`both-${n}`)));
  expect(counted).toEqual(numbers.map(() => 1));
  const firsts = (await listSales({ saleType: 'new' })).filter(({ customer }) =>
    customer.externalId.startsWith('both-'),
  );
  expect(firsts).toHaveLength(numbers.length);
});

it('a sale goes to an imported lead that is later than the live one', async () => {
  await two.apis[0].dub.links.create({ domain: two.domain, key: 'other', url: 'https://other.example' });
  await liveLead('reported-to-both');
  await storedSales();
  const lead = past('lead', 'reported-to-both');
  const timeMs = Date.now();
  if (lead.kind !== 'lead') throw new Error('no lead');
  const click = { ...lead.click, address: { domain: 'old.test', key: 'other' }, timeMs };
  expect(await importPast([{ ...lead, timeMs, click }])).toMatchObject({ leads: 1, rejected: 0 });
  await liveSale('reported-to-both', 'of-the-later-lead');
  await storedSales();
  const { dub } = two.apis[0];
  const sales = (await dub.events.list({ event: 'sales', interval: 'all', limit: 1000 })) as unknown as readonly {
    readonly link: { readonly key: string };
    readonly sale: { readonly invoiceId: string | null };
  }[];
  const sold = sales.filter(({ sale }) => sale.invoiceId === 'of-the-later-lead');
  expect(sold.map(({ link }) => link.key)).toEqual(['other']);
});
