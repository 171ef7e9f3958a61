import { WEBHOOK_VISIBILITY } from '@waymark/catalog';
import { applyRetention } from '@waymark/clickhouse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, NOW, startQuery, type TestQuery } from '../test-query.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery(() => NOW);
});
afterAll(() => query.close());

/** A workspace with a link of two clicks, of which the older has expired, and what its analytics count. */
async function expired(own: TestQuery) {
  const workspace = await aWorkspace(own);
  const link = await workspace.aLink({ key: 'old' });
  await workspace.store({ clicks: [workspace.click(link, 1), workspace.click(link, 60 * 24 * 400)] });
  await own.database.client.command({
    query: 'DELETE FROM click_events WHERE timestamp < {limit:DateTime64(3)}',
    query_params: { limit: (NOW - 365 * 86_400_000) / 1000 },
  });
  const count = async (parameters: Record<string, string>) =>
    (await workspace.analytics({ interval: 'all', ...parameters })).body;
  return { workspace, link, count };
}

test('with retention, analytics counts the stored events and not the totals of links', async () => {
  const own = await startQuery(() => NOW, { eventsExpire: true });
  try {
    const { link, count } = await expired(own);
    expect(await count({ linkId: link.id })).toMatchObject({ clicks: 1 });
    expect(await count({ linkId: link.id, groupBy: 'countries' })).toMatchObject([{ clicks: 1 }]);
    expect(await count({ groupBy: 'top_links' })).toMatchObject([{ id: link.id, clicks: 1 }]);
  } finally {
    await own.close();
  }
});

test('so it does after the installation no longer limits how long it keeps events', async () => {
  const own = await startQuery(() => NOW);
  try {
    const { client } = own.database;
    const { link, count } = await expired(own);
    for (const eventDays of [10_000, undefined]) await applyRetention(client, { eventDays });
    expect(await count({ linkId: link.id })).toMatchObject({ clicks: 1 });
    expect(await count({ groupBy: 'top_links' })).toMatchObject([{ id: link.id, clicks: 1 }]);
  } finally {
    await own.close();
  }
});

test('ascending pages list every stored event, also when the counts of expired events are deleted before these', async () => {
  const own = await startQuery(() => NOW, { eventsExpire: true });
  try {
    const workspace = await aWorkspace(own);
    const link = await workspace.aLink({ key: 'many' });
    const [expiredEvents, events] = [1500, 31_000];
    const clicks = (count: number, minutesAgo: number) =>
      Array.from({ length: count }, (_, index) => workspace.click(link, minutesAgo - index / 1000));
    await workspace.store({ clicks: [...clicks(expiredEvents, 60 * 24 * 400), ...clicks(events, 60)] });
    await own.database.client.command({
      query: 'DELETE FROM workspace_slots WHERE slot < {limit:DateTime}',
      query_params: { limit: Math.floor((NOW - 365 * 86_400_000) / 1000) },
    });
    const page = async (number: number) => {
      const query = { event: 'clicks', interval: 'all', sortOrder: 'asc', limit: '1000', page: String(number) };
      return (await workspace.events(query)).body.map(({ click }) => click.id);
    };
    const pages = [await page(30), await page(31), await page(32), await page(33), await page(34)];
    expect(pages.map(({ length }) => length)).toEqual([1000, 1000, 1000, 500, 0]);
    expect(new Set(pages.flat()).size).toBe(3500);
  } finally {
    await own.close();
  }
});

test('so it does for a workspace that keeps events for a time of its own, also after it no longer does', async () => {
  const { workspace, link, count } = await expired(query);
  const others = await expired(query);
  for (const eventRetentionDays of [365, null]) {
    await query.catalog.workspaces.update(workspace.id, { eventRetentionDays });
    expect(await count({ linkId: link.id })).toMatchObject({ clicks: 1 });
    expect(await count({ groupBy: 'top_links' })).toMatchObject([{ id: link.id, clicks: 1 }]);
  }
  // The counter of the link is that of its lifetime.
  expect(await query.catalog.links.objects(workspace.id, [link], WEBHOOK_VISIBILITY)).toMatchObject([{ clicks: 2 }]);
  // Other workspaces have the faster counts.
  expect(await others.count({ linkId: others.link.id })).toMatchObject({ clicks: 2 });
});
