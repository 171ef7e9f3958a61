import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countersOf, shownOf } from '../../src/events/fresh-counters.js';
import { aWorkspace, MINUTE_MS, NOW, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

/** A counter of one link that is one higher at each read. */
function aCounter(first: number) {
  let value = first;
  const reads: string[] = [];
  const ask =
    (what: string) =>
    async (ids: readonly string[], late: ReadonlySet<string> = new Set()) => {
      reads.push(late.size === 0 ? what : `${what}, late`);
      return new Map(ids.map((id) => [id, value++] as const));
    };
  const counts = (found: number | undefined, { events }: { readonly events: number }) => (found ?? 0) >= events;
  return { reads, parts: { valuesOf: ask('page'), read: ask('again'), counts, now: () => NOW } };
}

function page(events: number, ageMs: number) {
  return shownOf(Array.from({ length: events }, () => ['link', new Date(NOW - ageMs).toISOString()]));
}

describe('counters of a page', () => {
  test('of old events may be prefetched', async () => {
    const { reads, parts } = aCounter(3);
    expect(await countersOf(parts, page(3, 2 * MINUTE_MS))).toEqual(new Map([['link', 3]]));
    expect(reads).toEqual(['page']);
  });

  test('of old events that were just inserted are read until they include the events of the page', async () => {
    const { reads, parts } = aCounter(1);
    expect(await countersOf(parts, page(3, 2 * MINUTE_MS))).toEqual(new Map([['link', 3]]));
    expect(reads).toEqual(['page', 'again', 'again']);
  });

  test('of young events are read after the rows, and again until they include the events of the page', async () => {
    const { reads, parts } = aCounter(1);
    expect(await countersOf(parts, page(3, 1000))).toEqual(new Map([['link', 3]]));
    expect(reads).toEqual(['page, late', 'again', 'again']);
  });

  test('are waited for at most a second, slow reads included', async () => {
    const { reads, parts } = aCounter(1);
    const read = async (ids: readonly string[]) => {
      await delay(300);
      return parts.read(ids);
    };
    await countersOf({ ...parts, read, counts: () => false }, page(1, 0));
    // The last read began within the second.
    expect(reads.length - 1).toBeLessThanOrEqual(4);
  });
});

describe('GET /events while events are inserted', () => {
  let query: TestQuery;
  let workspace: TestWorkspace;
  beforeAll(async () => {
    query = await startQuery();
    workspace = await aWorkspace(query);
  });
  afterAll(() => query.close());

  test('no page has more events of a link than the counter of the link, nor a newer one than its last click', async () => {
    const link = await workspace.aLink({ key: 'fresh' });
    for (let count = 1; count <= 30; count++) {
      const stored = workspace.store({ clicks: [workspace.click(link, 0)] });
      for (;;) {
        const { body } = await workspace.events({ linkId: link.id });
        const [newest] = body;
        if (newest !== undefined) {
          expect(newest.link.clicks).toBeGreaterThanOrEqual(body.length);
          expect(Date.parse(newest.link.lastClicked ?? '')).toBeGreaterThanOrEqual(Date.parse(newest.timestamp));
        }
        if (body.length >= count) break;
      }
      await stored;
    }
  });

  test('a link with an event of the last minute on the page has current counters, even without an invalidation', async () => {
    await waitFor(query.catalog.isSubscribed, { what: 'the subscription of the catalog' });
    const link = await workspace.aLink({ key: 'young' });
    const customer = await workspace.aCustomer({ externalId: 'young' });
    const click = workspace.click(link, 0);
    await workspace.store({ clicks: [click] });
    const leads = async () => (await workspace.events({ linkId: link.id })).body[0]?.link.leads;
    expect(await leads()).toBe(0);
    await workspace.store({ leads: [workspace.lead(click, customer, 0)] });
    expect(await leads()).toBe(1);
  });
});
