import type { Catalog, LinkRecord } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import { aClick, aLead, insertLeads, startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';

const HOUR_MS = 3_600_000;
const HOST = 'go.notes.example';
const [A, B] = ['https://acme.com/a', 'https://acme.com/b'];
const NOTES = 'waymark:link-tests:ended';

let stores: TestStores;
let catalog: Catalog;
let workspaceId: string;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
  const made = await catalog.workspaces.create({ name: 'N', slug: 'notes', plan: 'enterprise', domain: HOST });
  workspaceId = made.workspace.id;
});
afterAll(() => stores.close());

/** A link whose test ended an hour ago, with a lead of the first variant. */
async function anEndedTest(key: string): Promise<LinkRecord> {
  const link = await catalog.links.create(workspaceId, {
    domain: HOST,
    key,
    url: 'https://acme.com/before',
    trackConversion: true,
    testVariants: [A, B].map((url) => ({ url, percentage: 50 })),
    testStartedAt: new Date(Date.now() - 2 * HOUR_MS).toISOString(),
    testCompletedAt: new Date(Date.now() - HOUR_MS).toISOString(),
  });
  const timestampMs = Date.now() - 1.5 * HOUR_MS;
  const ids = { workspaceId: parseResourceId('workspace', workspaceId), linkId: parseResourceId('link', link.id) };
  const click = aClick({ workspaceId: ids.workspaceId ?? '', linkId: ids.linkId ?? '', timestampMs, url: A });
  await insertLeads(stores.database.client, [aLead({ click, timestampMs })]);
  return link;
}

it('a test whose end was noted thousands of times, maybe by an earlier release, is completed once, and one run leaves none of the notes', async () => {
  const links = [await anEndedTest('one'), await anEndedTest('two')];
  const otherEnd = new Date(Date.now() - HOUR_MS / 2).toISOString();
  const notes = links.flatMap(({ id, testCompletedAt }) =>
    Array.from({ length: 4000 }, (_, index) => {
      const end = index % 2 === 0 ? testCompletedAt : otherEnd;
      return `${workspaceId}/${id}/${end}/${Date.now() - HOUR_MS + index}`;
    }),
  );
  await stores.client.sadd(NOTES, ...notes);
  const completed: string[] = [];
  const untilMs = Date.now() - 60_000;
  const left = await catalog.abTests.complete(
    { fromMs: untilMs, untilMs, untouchedOnly: false, random: () => 0 },
    { leaseLost: new AbortController().signal, onChanged: async ({ id }) => void completed.push(id) },
  );
  expect(left).toEqual({ failed: [], endedBy: undefined });
  expect(completed.toSorted()).toEqual(links.map(({ id }) => id).toSorted());
  expect(await stores.client.scard(NOTES)).toBe(0);
});

it('a workspace ends 5000 tests a minute at most, so that Redis has room for the notes', async () => {
  const link = await anEndedTest('often');
  const count = `waymark:link-tests:noted:${workspaceId}`;
  await stores.client.set(count, 4999, 'EX', 60);
  await catalog.abTests.noteEnd(link);
  await expect(catalog.abTests.noteEnd(link)).rejects.toMatchObject({ status: 429, retryAfterSeconds: 60 });
  expect(await stores.client.scard(NOTES)).toBe(1);
  await stores.client.del(count);
  await catalog.abTests.noteEnd(link);
  expect(await stores.client.ttl(count)).toBeGreaterThan(0);
});
