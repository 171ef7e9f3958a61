import { aClick, aLead, createTestDatabase, insertLeads, rounds, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshWorkspace, idOf, NOW } from '../world.js';
import { metadata, metadataQueries, queryTexts } from './arbitraries.js';
import { evaluate, type Metadata } from './evaluate.js';
import { idsMatching, idsMatchingEach } from './ids-matching.js';

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

/** Queries in a statement: their values are sent in its URL. */
const TOGETHER = 20;
/** Every tenth query is read as a page, through the indexes. */
const PAGE_EVERY = 10;

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
        for (let start = 0; start < queries.length; start += TOGETHER) {
          const some = queries.slice(start, start + TOGETHER);
          const found = await idsMatchingEach(
            database,
            workspace,
            some.map(({ text }) => text),
          );
          for (const [index, { query, text }] of some.entries()) {
            const expected = ids.filter((_id, position) => evaluate(query, all[position]!));
            if (expected.length > 0 && expected.length < ids.length) selective += 1;
            expect(found[index], text).toEqual(expected);
            if (index % PAGE_EVERY === 0) expect(await idsMatching(database, workspace, text), text).toEqual(expected);
          }
        }
      },
    ),
    { numRuns: rounds(35, 12), endOnFailure: true },
  );
  // Guards against a vacuous test: queries that match all or none prove little.
  expect(selective).toBeGreaterThan(rounds(500, 100));
}, 300_000);
