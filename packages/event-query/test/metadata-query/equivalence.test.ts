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

/** Inserts a lead for each metadata, newest first, and returns their ids. */
async function storeLeads(workspace: number, all: readonly Metadata[]): Promise<string[]> {
  const click = aClick({ workspaceId: String(workspace) });
  const leads = all.map((each, index) => ({
    eventId: idOf(NOW - index, index),
    timestampMs: NOW - index,
    metadata: each,
  }));
  await insertLeads(
    database.client,
    leads.map((fields) => aLead({ click, ...fields })),
  );
  return leads.map(({ eventId }) => eventId);
}

async function idsMatching(workspace: number, query: string): Promise<string[]> {
  const request = { event: 'leads', interval: 'all', limit: '1000', query };
  const scope = { workspaceId: workspaceId(workspace), programId: null };
  return (await pageOf(database, request, scope, { hasRemovedLinks: false })).ids;
}

test('a query finds exactly the leads whose metadata match it', async () => {
  const queriesWithText = metadataQueries.chain((query) => queryTexts(query).map((text) => ({ query, text })));
  let selective = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(metadata, { minLength: 30, maxLength: 30 }),
      fc.array(queriesWithText, { minLength: 60, maxLength: 60 }),
      async (all, queries) => {
        const workspace = freshWorkspace();
        const ids = await storeLeads(workspace, all);
        for (const { query, text } of queries) {
          const expected = ids.filter((_id, index) => evaluate(query, all[index]!));
          if (expected.length > 0 && expected.length < ids.length) selective += 1;
          expect(await idsMatching(workspace, text), text).toEqual(expected);
        }
      },
    ),
    { numRuns: 35, endOnFailure: true },
  );
  // Guards against a vacuous test: queries that match all or none prove little.
  expect(selective).toBeGreaterThan(500);
}, 300_000);
