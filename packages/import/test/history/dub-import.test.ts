import { ApiError } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type EventCounts,
  type HistorySource,
  ImportError,
  type PastEvent,
  parseDomainMap,
  type Rejection,
} from '../../src/index.js';
import { anAccount, dub, linkOf } from './dub-account.js';
import { aDubClick, aDubCustomer, aDubLead, aDubSale, dubClickId } from './stub-dub.js';
import { startHistory, type TestHistory } from './test-history.js';

let history: TestHistory;
beforeAll(async () => {
  history = await startHistory();
});
afterAll(() => history.close());

describe('an import of the history of dub', () => {
  it('leaves out what is older than the installation keeps, and counts it', async () => {
    const acme = await history.workspace();
    const days = Math.ceil((Date.now() - Date.UTC(2024, 0, 1)) / 86_400_000);
    const counts = await history.api(acme, 'dub', (await dub(anAccount())).address, { retentionDays: days });
    expect(counts).toMatchObject({ clicks: 1, leads: 1, sales: 1, tooOld: 4, rejected: 0 });
    expect((await linkOf(history, acme, 'try')).object).toMatchObject({ clicks: 0, sales: 0 });
  });

  it('leaves out what is older than the workspace keeps', async () => {
    const acme = await history.workspace();
    const days = Math.ceil((Date.now() - Date.UTC(2024, 0, 1)) / 86_400_000);
    const keeping = { ...acme, eventRetentionDays: days };
    const counts = await history.api(keeping, 'dub', (await dub(anAccount())).address, { retentionDays: days + 5000 });
    expect(counts).toMatchObject({ clicks: 1, leads: 1, sales: 1, tooOld: 4 });
  });

  it('attributes a lead whose click is missing to the click that it names', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    account.clicks.splice(0, 1);
    expect(await history.api(acme, 'dub', (await dub(account)).address)).toMatchObject({
      clicks: 1,
      leads: 2,
      sales: 3,
    });
    const leads = await history.rows(acme, 'lead_events');
    expect(leads.map(({ city }) => city)).toEqual(['Austin', 'Austin']);
    expect((await linkOf(history, acme, 'try')).object).toMatchObject({
      clicks: 0,
      leads: 1,
      conversions: 1,
      saleAmount: 9800,
    });
  });

  it('rejects what cannot be an event with its reason, and imports the rest', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    const [click] = account.clicks;
    if (click === undefined) throw new Error('no click');
    account.clicks.push(
      aDubClick(20, 'a text' as never),
      aDubClick(21, '2023-05-01T00:00:00.000Z', { key: 'gone' }),
      { ...aDubClick(22, '2023-05-02T00:00:00.000Z'), click: {} },
      aDubClick(23, new Date(Date.now() + 3_600_000).toISOString()),
    );
    const late = '2024-06-01T00:00:00.000Z';
    const nested = Array.from({ length: 4_000 }).reduce<unknown>((inner) => [inner], 1);
    account.leads.push(
      aDubLead(30, late, click, aDubCustomer(4), { metadata: 'no JSON' }),
      aDubLead(31, late, click, aDubCustomer(5), { metadata: { text: 'x'.repeat(10_001) } }),
      aDubLead(35, late, click, aDubCustomer(5), { metadata: { ['.'.repeat(4_900)]: Array(2_500).fill(1) } }),
      aDubLead(36, late, click, aDubCustomer(5), { metadata: { a: nested } }),
      aDubLead(32, late, click, aDubCustomer(6), { eventId: undefined }),
      aDubLead(33, late, click, aDubCustomer(7, { externalId: ' ', id: ' ' })),
      aDubLead(34, late, click, aDubCustomer(7, { externalId: ' ', id: ' ' })),
    );
    account.sales.push(
      aDubSale(40, late, click, aDubCustomer(1), { sale: { amount: -1 } }),
      // The same invoice once more, as another event.
      aDubSale(41, late, click, aDubCustomer(1), { sale: { amount: 1, invoiceId: 'in_1' } }),
    );
    const counts = await history.api(acme, 'dub', (await dub(account)).address);
    expect(counts).toMatchObject({ clicks: 2, leads: 2, sales: 3, customers: 3 });
    const reasons = counts.rejections.map(({ reason }) => reason);
    expect(reasons).toEqual([
      'id is missing',
      `there is no link ${acme.host}/gone in this workspace`,
      ...['metadata must be an object', 'eventId is missing', 'metadata must have at most 10000 characters as JSON'],
      'metadata must have at most 200000 bytes when each value is written with its whole path: shorten the names, or send fewer values',
      'metadata is nested too deeply',
      // Both leads of the customer, not only the first.
      ...Array(2).fill('customer.externalId is not one that a customer may have here'),
      'amount must be a whole number',
    ]);
  });

  it('rejects an event on a shared domain that is not mapped, and imports the customer of such a link without it', async () => {
    const acme = await history.workspace();
    await history.table(acme, 'url,key\nhttps://a.test,Ab\n');
    const click = (identity: string, domain: string) => ({
      ...{ kind: 'click' as const, address: { domain, key: 'Ab' }, timeMs: Date.UTC(2024, 0, 1), identity },
      ...{ alias: null, url: null, place: { country: 'US', region: undefined, city: undefined, continent: undefined } },
      ...{ device: null, browser: null, os: null, userAgent: '', referrer: null, trigger: 'link' as const },
    });
    const customer = { kind: 'customer' as const, ...aDubCustomer(1), address: { domain: 'bit.ly', key: 'Ab' } };
    const source: HistorySource = {
      identity: 'a source',
      async *read() {
        const clicks = [click('1', 'bit.ly'), click('2', acme.host)];
        yield { items: clicks.map((event, row) => ({ row, record: {}, event })), next: 'a' };
        yield { items: [{ row: 2, record: {}, event: customer }], next: 'b' };
      },
    };
    const reasons: string[] = [];
    const report = {
      ...{ continued: async () => undefined, save: async () => undefined, progress: () => undefined },
      rejected: async ({ row, reason }: Rejection) => void reasons.push(`${row}: ${reason}`),
    };
    const counts = await history.events(acme, source, { report, domains: parseDomainMap([]) });
    expect(counts).toMatchObject({ clicks: 1, customers: 1, rejected: 1 });
    expect(reasons).toEqual(['0: links of bit.ly need a domain of yours: domain bit.ly=…']);
    const stored = await history.catalog.customers.findByExternalId(acme.id, customer.externalId);
    expect(stored).toMatchObject({ linkId: null });
  });

  it('in a dry run counts what it would store, and stores nothing', async () => {
    const acme = await history.workspace();
    const counts = await history.api(acme, 'dub', (await dub(anAccount())).address, { isDry: true });
    expect(counts).toMatchObject({ read: 10, clicks: 2, leads: 2, sales: 3, customers: 3 });
    for (const table of ['click_events', 'lead_events', 'sale_events', 'click_aliases'])
      expect([table, await history.rows(acme, table)]).toEqual([table, []]);
    expect(await history.catalog.customers.findByExternalId(acme.id, 'user-1')).toBeUndefined();
  });

  it('ends with the reason when the source refuses, and continues at the same position later', async () => {
    const acme = await history.workspace();
    const account = anAccount();
    let isRefusing = true;
    const stub = await dub(account, ({ path, query }) => {
      if (path !== '/events' || query.event !== 'sales' || !isRefusing) return undefined;
      return { status: 403, json: { error: { message: 'Need a higher plan' } } };
    });
    const refused = history.api(acme, 'dub', stub.address);
    await expect(refused).rejects.toThrow(ImportError);
    await expect(refused).rejects.toThrow('Need a higher plan');
    isRefusing = false;
    const before = stub.requests.length;
    expect(await history.api(acme, 'dub', stub.address)).toMatchObject({ clicks: 2, leads: 2, sales: 3, customers: 3 });
    const pages = stub.requests.slice(before).filter(({ path }) => path === '/events');
    expect([...new Set(pages.map(({ query }) => query.event))]).toEqual(['leads', 'sales']);
  });

  it('ends when Redis is full, rejects no record for it, and closes its source', async () => {
    const acme = await history.workspace();
    const create = () => Promise.reject(new ApiError('rate_limit_exceeded', 'Too many events at the moment.'));
    const catalog = { ...history.catalog, customers: { ...history.catalog.customers, create } };
    const event = { kind: 'customer' as const, ...aDubCustomer(1), address: null };
    const rejections: unknown[] = [];
    let isClosed = false;
    const source: HistorySource = {
      identity: 'a source',
      async *read() {
        try {
          yield { items: [{ row: 1, record: {}, event }], next: 'a' };
          // Of another kind: what came before is stored first.
          yield { items: [{ row: 2, record: {}, event: { kind: 'click' } as PastEvent }], next: 'b' };
        } finally {
          isClosed = true;
        }
      },
    };
    const importing = history.events(acme, source, {
      deps: { catalog, defaultDomain: undefined, now: Date.now },
      report: {
        ...{ continued: async () => undefined, save: async () => undefined, progress: () => undefined },
        rejected: async (rejection) => void rejections.push(rejection),
      },
    });
    await expect(importing).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(rejections.filter((one) => (one as { row: number }).row === 1)).toEqual([]);
    expect(isClosed).toBe(true);
  });

  it('counts and reports rows that the store refuses, also those of a run that is continued', async () => {
    const acme = await history.workspace();
    await history.table(acme, 'url,key\nhttps://a.test,Ab\n');
    const click = (identity: string, city: string) => ({
      ...{ kind: 'click' as const, address: { domain: acme.host, key: 'Ab' }, timeMs: Date.UTC(2024, 0, 1), identity },
      ...{ alias: null, url: null, place: { country: 'US', region: undefined, city, continent: undefined } },
      ...{ device: null, browser: null, os: null, userAgent: '', referrer: null, trigger: 'link' as const },
    });
    const reported: string[] = [];
    let isAway = true;
    const source: HistorySource = {
      identity: 'a source',
      async *read(from) {
        if (from === undefined) {
          const items = ['Austin', '\ud800', 'Dallas'].map((city, row) => ({
            ...{ row, record: {}, event: click(`${row}`, city) },
          }));
          for (let page = 1; page <= 100; page++) yield { items: page === 1 ? items : [], next: 'a' };
        }
        if (isAway) throw new ImportError('the source is away');
        yield { items: [{ row: 4, record: {}, event: click('4', 'Waco') }], next: 'b' };
      },
    };
    const report = {
      continued: async ({ clicks, rejected }: EventCounts, mark: string | undefined) =>
        void reported.push(`${clicks} ${rejected} ${mark}`),
      rejected: async ({ reason }: Rejection) => void reported.push(reason.slice(0, 20)),
      save: async () => `mark ${reported.push('saved')}`,
      progress: () => undefined,
    };
    await expect(history.events(acme, source, { report })).rejects.toThrow('the source is away');
    expect(reported).toEqual(['saved', 'the store refuses it', 'saved']);
    isAway = false;
    expect(await history.events(acme, source, { report })).toMatchObject({ read: 4, clicks: 3, rejected: 1 });
    expect(reported.slice(3)).toEqual(['2 1 mark 3', 'saved']);
    expect(await history.rows(acme, 'click_events')).toHaveLength(3);
  });

  it('continues the report of rejected events also after a run that has rejected none', async () => {
    const acme = await history.workspace();
    // Pages of rejected records, until the source refuses.
    const source = (next: string, error?: string): HistorySource => ({
      identity: 'a source',
      async *read() {
        for (let page = 0; page < 200; page++)
          yield { items: error === undefined ? [] : [{ row: 1, record: {}, error }], next };
        throw new ImportError('the source refuses');
      },
    });
    const marks: unknown[] = [];
    const run = (from: HistorySource, saved: string | undefined) =>
      history.events(acme, from, {
        report: {
          ...{ save: async () => saved, progress: () => undefined, rejected: async () => undefined },
          continued: async (_earlier, mark) => void marks.push(mark),
        },
      });
    for (const [from, saved] of [
      [source('a', 'no event'), 'a mark'],
      [source('b'), undefined],
      [source('c'), undefined],
    ] as const)
      await expect(run(from, saved)).rejects.toThrow('the source refuses');
    expect(marks).toEqual(['a mark', 'a mark']);
  });

  it('stores fewer events at a time when they are large', async () => {
    const acme = await history.workspace();
    const event = {
      kind: 'lead',
      ...{ timeMs: Date.now(), identity: 'x', eventName: 'Sign up', click: {}, customer: {} },
    } as unknown as PastEvent;
    const batchesOf = async (metadata: Readonly<Record<string, unknown>>, record: object = {}) => {
      const batches: number[] = [];
      const source: HistorySource = {
        identity: 'a source',
        async *read() {
          for (let page = 1; page <= 8; page++) {
            yield {
              items: Array(50).fill({ row: page, record, event: { ...event, metadata } }),
              next: String(page),
            };
          }
        },
      };
      const report = {
        ...{ continued: async () => undefined, save: async () => undefined, rejected: async () => undefined },
        progress: ({ leads }: { leads: number }) => void batches.push(leads),
      };
      await history.events(acme, source, { isDry: true, report });
      return batches;
    };
    expect(await batchesOf({ plan: 'pro' })).toEqual([400]);
    expect(await batchesOf({ measurements: Array(4_980).fill(1) })).toEqual([150, 300, 400]);
    expect(await batchesOf({ plan: 'pro' }, { unknown: 'x'.repeat(300_000) })).toEqual([150, 300, 400]);
  });

  it('gives clicks the ids of the source as aliases in their own workspace', async () => {
    const [acme, other] = [await history.workspace(), await history.workspace()];
    await history.api(acme, 'dub', (await dub(anAccount())).address);
    const aliases = await history.rows(acme, 'click_aliases');
    expect(aliases.map(({ alias }) => alias).toSorted()).toEqual([dubClickId(1), dubClickId(2)].toSorted());
    expect(await history.rows(other, 'click_aliases')).toEqual([]);
    const marks = await Promise.all([acme, other].map(({ id }) => history.catalog.workspaces.get(id)));
    expect(marks.map((workspace) => workspace?.hasClickAliases)).toEqual([true, undefined]);
  });
});
