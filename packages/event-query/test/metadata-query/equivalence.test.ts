import { aClick, aLead, createTestDatabase, insertLeads, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pageOf } from '../run.js';
import { freshWorkspace, idOf, NOW, workspaceId } from '../world.js';
import { metadata, metadataQueries, queryTexts } from './arbitraries.js';
import { evaluate, type Metadata } from './evaluate.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Ids of leads with these metadata, in the order of the list; the first is the newest. */
async function storeLeads(workspace: number, all: readonly Metadata[]): Promise<string[]> {
  const click = aClick({ workspaceId: String(workspace) });
  const leads = all.map((each, index) => ({
    eventId: idOf(NOW - index, index),
    timestampMs: NOW - index,
    metadata: each,
  }));
  await insertLeads(
    database.client,
    leads.map((facts) => aLead({ click, ...facts })),
  );
  return leads.map(({ eventId }) => eventId);
}

async function askFor(workspace: number, query: string): Promise<string[]> {
  const request = { event: 'leads', interval: 'all', limit: '1000', query };
  const scope = { workspaceId: workspaceId(workspace), programId: null };
  return (await pageOf(database, request, scope, { hasRemovedLinks: false })).ids;
}

test('a query finds exactly the leads whose metadata it describes', async () => {
  const asked = metadataQueries.chain((query) => queryTexts(query).map((text) => ({ query, text })));
  let telling = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(metadata, { minLength: 30, maxLength: 30 }),
      fc.array(asked, { minLength: 60, maxLength: 60 }),
      async (all, queries) => {
        const workspace = freshWorkspace();
        const ids = await storeLeads(workspace, all);
        for (const { query, text } of queries) {
          const expected = ids.filter((_id, index) => evaluate(query, all[index]!));
          if (expected.length > 0 && expected.length < ids.length) telling += 1;
          expect(await askFor(workspace, text), text).toEqual(expected);
        }
      },
    ),
    { numRuns: 35, endOnFailure: true },
  );
  // Otherwise the test would compare nothing with nothing.
  expect(telling).toBeGreaterThan(500);
}, 300_000);
