import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, MINUTE_MS, NOW, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

const DAY = 24 * 60;
/** Far from the ends of its month, in which usage counts. */
const now = () => NOW;
const MINUTES_INTO_MONTH = Math.floor((NOW - Date.parse(`${new Date(NOW).toISOString().slice(0, 7)}-01`)) / MINUTE_MS);

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery(now, { catalogNow: now });
});
afterAll(() => query.close());

/** A workspace with a limit of events per month and the given number of events today, plus events in other months. */
async function withUsage(limit: number | null, used: number): Promise<TestWorkspace> {
  const workspace = await aWorkspace(query, 'business');
  await query.catalog.workspaces.update(workspace.id, { quotas: { eventsPerMonth: limit } });
  const link = await workspace.aLink({ key: 'a' });
  const customer = await workspace.aCustomer({ externalId: 'c' });
  const today = { timestampMs: NOW };
  const clicks = Array.from({ length: used - 2 }, () => workspace.click(link, 0, today));
  const click = workspace.click(link, 0, { timestampMs: NOW - (MINUTES_INTO_MONTH + 2 * DAY) * MINUTE_MS });
  await workspace.store({
    clicks: [...clicks, click],
    leads: [workspace.lead(click, customer, 0, today)],
    sales: [workspace.sale(click, customer, 0, today)],
  });
  return workspace;
}

test('a workspace at its limit can read events; one over it is refused before its parameters are validated', async () => {
  const at = await withUsage(5, 5);
  expect((await at.events()).status).toBe(200);
  expect((await at.analytics()).status).toBe(200);

  const beyond = await withUsage(5, 6);
  for (const answer of [await beyond.events('limit=abc'), await beyond.analytics('groupBy=nothing')]) {
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
    expect(answer.headers['x-ratelimit-limit']).toBeDefined();
  }
});

test('the limit of the plan applies if the workspace has none of its own; a plan may have no limit', async () => {
  const plan = await withUsage(null, 6);
  expect((await plan.events()).status).toBe(200);
  await query.catalog.workspaces.update(plan.id, { quotas: { eventsPerMonth: 5 } });
  expect((await plan.events()).status).toBe(403);
  await query.catalog.workspaces.update(plan.id, { quotas: {} });
  expect((await plan.events()).status).toBe(200);
});

test('clicks on a domain without a destination do not count', async () => {
  const workspace = await withUsage(5, 5);
  const root = await query.catalog.links.findByAddress(workspace.host, '_root');
  await workspace.store({ clicks: [workspace.click(root!, 0, { timestampMs: NOW, url: '' })] });
  expect(await query.catalog.eventUsage.thisMonth(workspace.id)).toBe(5);
  expect((await workspace.events()).status).toBe(200);
});
