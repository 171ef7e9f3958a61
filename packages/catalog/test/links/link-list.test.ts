import { insertRows } from '@waymark/clickhouse';
import { createResourceId } from '@waymark/contract';
import {
  aClick,
  aLinkRecord,
  aSale,
  insertClicks,
  insertSales,
  rounds,
  startStores,
  type TestStores,
} from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog, LinkRecord } from '../../src/index.js';
import { numberOf, recordColumns, recordRow } from '../../src/model/entity-type.js';
import { linkType } from '../../src/model/entity-types.js';
import { aWorkspace } from '../test-catalog.js';

const LINKS = 1_200;
const FIRST_MS = Date.UTC(2026, 0, 1);
const CLICKED_MS = Date.UTC(2026, 5, 1);

/** A link and the sums of its events. */
interface Listed {
  readonly link: LinkRecord;
  readonly clicks: number;
  readonly saleAmount: number;
  readonly lastClicked: number;
}

let stores: TestStores;
let catalog: Catalog;
let workspaceId: string;
let links: Listed[];

/** More links in a row than a page is looked for among first, with both the newest and the oldest links near. */
const isBetweenArchived = (index: number) => (index >= 5 && index < 450) || (index >= 750 && index < LINKS - 5);

/** Some links are archived, changed or removed. Half of them have events, a few of these have many. */
beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
  const { workspace, host } = await aWorkspace(catalog);
  workspaceId = workspace.id;
  const all = Array.from({ length: LINKS }, (_, index): Listed => {
    const archived = index % 7 === 0 || isBetweenArchived(index);
    const id = createResourceId('link', FIRST_MS + index);
    const clicks = index % 2 === 0 ? 0 : 1 + Math.floor((index * 7919) % 23);
    return {
      link: aLinkRecord({ id, workspaceId, domain: host, key: `k${index}`, archived, externalId: null }),
      clicks,
      saleAmount: clicks > 0 && index % 3 === 0 ? 100 * ((index * 31) % 11) : 0,
      lastClicked: clicks > 0 ? CLICKED_MS + ((index * 104_729) % 1_000_000) : 0,
    };
  });
  const { client } = stores.database;
  const write = (rows: readonly Listed[], version: number, isRemoved = false) =>
    insertRows(client, {
      table: 'links',
      columns: recordColumns(linkType),
      rows: rows.map(({ link }) => recordRow(linkType, { record: link, version }, isRemoved)),
    });
  await write(all, 1);
  await write(
    all.filter((_link, index) => index % 5 === 0),
    2,
  );
  await write(
    all.filter((_link, index) => index % 11 === 0),
    3,
    true,
  );
  for (const half of [0, 1]) {
    const clicked = all.filter(({ clicks }, index) => clicks > 0 && index % 4 < 2 === (half === 0));
    const clicks = clicked.flatMap(({ link, clicks: count, lastClicked }) =>
      Array.from({ length: count }, (_, index) =>
        aClick({
          workspaceId: numberOf('workspace', workspaceId),
          linkId: numberOf('link', link.id),
          timestampMs: lastClicked - index,
        }),
      ),
    );
    const sales = clicked.flatMap(({ link, saleAmount }) => {
      const workspace = numberOf('workspace', workspaceId);
      const click = aClick({ workspaceId: workspace, linkId: numberOf('link', link.id) });
      return saleAmount === 0 ? [] : [aSale({ click, amount: saleAmount })];
    });
    await insertClicks(client, clicks);
    await insertSales(client, sales);
  }
  const root = await catalog.links.findByAddress(host, '_root');
  links = all.filter((_link, index) => index % 11 !== 0);
  if (root !== undefined) links.push({ link: root, clicks: 0, saleAmount: 0, lastClicked: 0 });
});
afterAll(() => stores.close());

const TOTALS = {
  createdAt: () => 0,
  clicks: ({ clicks }: Listed) => clicks,
  saleAmount: ({ saleAmount }: Listed) => saleAmount,
  lastClicked: ({ lastClicked }: Listed) => lastClicked,
};
const SORTS = (Object.keys(TOTALS) as (keyof typeof TOTALS)[]).flatMap((sortBy) =>
  (['asc', 'desc'] as const).map((sortOrder) => [sortBy, sortOrder] as const),
);
const sortOrder = fc.constantFrom('asc' as const, 'desc' as const);
const filters = fc.record({
  showArchived: fc.boolean(),
  search: fc.option(fc.constantFrom('/k1', '/K50'), { nil: undefined, freq: 3 }),
});

/** The expected list, computed in memory. */
function expected(
  filter: { showArchived: boolean; search: string | undefined },
  by: keyof typeof TOTALS,
  order: string,
) {
  const value = TOTALS[by];
  const passing = links.filter(
    ({ link }) =>
      (filter.showArchived || !link.archived) &&
      `https://${link.domain}/${link.key}`.toLowerCase().includes((filter.search ?? '').toLowerCase()),
  );
  const sorted = passing.sort((a, b) => value(a) - value(b) || (a.link.id < b.link.id ? -1 : 1));
  return (order === 'asc' ? sorted : sorted.reverse()).map(({ link }) => link.id);
}

describe('a list of links', () => {
  it.each(SORTS)('equals the sorted list of all links, for any page, by %s %s', async (sortBy, sortOrder) => {
    const limits = fc.integer({ min: 1, max: 100 });
    await fc.assert(
      fc.asyncProperty(filters, limits, fc.nat(), async (filter, limit, place) => {
        const all = expected(filter, sortBy, sortOrder);
        // From the first page to the first one that is empty.
        const offset = place % (all.length + limit);
        const found = await catalog.links.list(workspaceId, { filters: filter, sortBy, sortOrder, limit, offset });
        expect(found.map(({ id }) => id)).toEqual(all.slice(offset, offset + limit));
      }),
      { numRuns: rounds(8, 3) },
    );
  });

  it('continues from any link, in both directions', async () => {
    const side = fc.constantFrom('after' as const, 'before' as const);
    const place = fc.nat();
    await fc.assert(
      fc.asyncProperty(
        filters,
        sortOrder,
        side,
        place,
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 0, max: 3 }),
        async (filter, order, from, nat, limit, pagesBetween) => {
          const all = expected(filter, 'createdAt', order);
          const id = all[nat % all.length] ?? '';
          const found = await catalog.links.listFrom(workspaceId, filter, {
            ...{ order, limit, id, side: from, offset: pagesBetween * limit },
          });
          const index = all.indexOf(id);
          const rest = from === 'after' ? all.slice(index + 1) : all.slice(0, index).reverse();
          const nearest = rest.slice(pagesBetween * limit, (pagesBetween + 1) * limit);
          const wanted = from === 'after' ? nearest : nearest.reverse();
          expect(found.map((link) => link.id)).toEqual(wanted);
        },
      ),
      { numRuns: rounds(40, 15) },
    );
  });

  it('is empty, as its count is, if no link passes its filter', async () => {
    const filter = { showArchived: true, search: 'nothing' };
    const page = { sortBy: 'createdAt', sortOrder: 'desc', limit: 100, offset: 0 } as const;
    expect(await catalog.links.list(workspaceId, { filters: filter, ...page })).toEqual([]);
    expect(await catalog.links.count(workspaceId, filter)).toBe(0);
  });

  it('has a count', async () => {
    for (const filter of fc.sample(filters, 10)) {
      expect(await catalog.links.count(workspaceId, filter)).toBe(expected(filter, 'createdAt', 'asc').length);
    }
  });
});
