import { createEventId, formatResourceId, parseResourceId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import {
  aClick,
  aLead,
  aSale,
  insertClicks,
  insertSales,
  startStores,
  type TestStores,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { affectedTotalsOf } from '../../src/totals/affected-totals.js';
import { aWorkspace } from '../test-catalog.js';

const text = (rows: readonly EventRow[]) => rows.map((row) => JSON.stringify(row));
const id = (kind: 'workspace' | 'link' | 'customer', number: number | string) => formatResourceId(kind, String(number));

function clickOf(workspaceId: string, linkId: string) {
  const timestampMs = Date.now();
  return aClick({ workspaceId, linkId, timestampMs, clickId: createEventId(timestampMs) });
}

describe('the affected totals of rows', () => {
  it('are those of the link of clicks, and of the link and the customer of leads and sales, each once', () => {
    const [click, other] = [clickOf('7', '11'), clickOf('8', '12')];
    expect(affectedTotalsOf('click', text([click, clickOf('7', '11'), other]))).toEqual([
      [
        { workspaceId: id('workspace', 7), ids: [id('link', 11)] },
        { workspaceId: id('workspace', 8), ids: [id('link', 12)] },
      ],
    ]);
    const facts = { click, customerId: '21', timestampMs: Date.now() };
    for (const [kind, row] of [
      ['lead', aLead(facts)],
      ['sale', aSale(facts)],
    ] as const) {
      expect(affectedTotalsOf(kind, text([row, row]))).toEqual([
        [{ workspaceId: id('workspace', 7), ids: [id('link', 11), id('customer', 21)] }],
      ]);
    }
  });

  it('are split into messages of a thousand ids, without malformed rows', () => {
    const rows = Array.from({ length: 2500 }, (_, index) => clickOf(String(index % 2), String(100 + index)));
    const parts = affectedTotalsOf('click', [...text(rows), 'no row', '[1]']);
    expect(parts.map((part) => part.flatMap(({ ids }) => ids).length)).toEqual([1000, 1000, 500]);
    const published = parts.flat().flatMap(({ workspaceId, ids }) => ids.map((link) => `${workspaceId}/${link}`));
    const expected = rows.map((row) => `${id('workspace', String(row[0]))}/${id('link', String(row[3]))}`);
    expect(published.sort()).toEqual(expected.sort());
  });
});

describe('cached counters and totals', () => {
  let stores: TestStores;
  beforeAll(async () => {
    stores = await startStores();
  });
  afterAll(() => stores.close());

  it('of another process are current once an insert is published', async () => {
    const [writer, reader] = [stores.catalog(), stores.catalog({ now: () => 0 })];
    const { workspace, host } = await aWorkspace(writer);
    const link = await writer.links.create(workspace.id, { domain: host, key: 'a', url: 'https://acme.com/' });
    const customer = await writer.customers.create(workspace.id, { externalId: 'c' });
    const numberOf = (kind: 'workspace' | 'link' | 'customer', of: string) => parseResourceId(kind, of) ?? '';
    const click = clickOf(numberOf('workspace', workspace.id), numberOf('link', link.id));
    const sale = aSale({ click, customerId: numberOf('customer', customer.id), timestampMs: Date.now() });
    const clicks = async () => (await reader.links.cachedCounters(workspace.id, [link.id])).get(link.id)?.clicks;
    const sales = async () =>
      (await reader.customers.cachedCounters(workspace.id, [customer.id])).get(customer.id)?.sales;
    await waitFor(reader.isSubscribed, { what: 'the reader to subscribe' });
    expect([await clicks(), await sales()]).toEqual([undefined, undefined]);
    for (const count of [1, 2, 3]) {
      const another = clickOf(numberOf('workspace', workspace.id), numberOf('link', link.id));
      await insertClicks(stores.database.client, [another]);
      await writer.evictTotals({ kind: 'click', batchId: `click ${count}`, rows: text([another]) });
      await waitFor(async () => (await clicks()) === count, { what: 'the click to be counted' });
    }
    expect(await sales()).toBeUndefined();
    await insertSales(stores.database.client, [sale]);
    await writer.evictTotals({ kind: 'sale', batchId: 'sale', rows: text([sale]) });
    await waitFor(async () => (await sales()) === 1, { what: 'the sale to be counted' });
  });

  it('of another process are current once all totals are evicted', async () => {
    const [writer, reader] = [stores.catalog(), stores.catalog({ now: () => 0 })];
    const { workspace, host } = await aWorkspace(writer);
    const link = await writer.links.create(workspace.id, { domain: host, key: 'b', url: 'https://acme.com/' });
    const clicks = async () => (await reader.links.cachedCounters(workspace.id, [link.id])).get(link.id)?.clicks;
    await waitFor(reader.isSubscribed, { what: 'the reader to subscribe' });
    expect(await clicks()).toBeUndefined();
    const [workspaceNumber, linkNumber] = [
      parseResourceId('workspace', workspace.id),
      parseResourceId('link', link.id),
    ];
    await insertClicks(stores.database.client, [clickOf(workspaceNumber ?? '', linkNumber ?? '')]);
    expect(await clicks()).toBeUndefined();
    await writer.evictAllTotals();
    await waitFor(async () => (await clicks()) === 1, { what: 'the click to be counted' });
  });
});
