import type { Catalog, LinkRecord } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import {
  aClick,
  aLead,
  insertLeads,
  startStores,
  type TestDatabase,
  type TestStores,
  waitFor,
} from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AbTestsOptions, startAbTests } from '../src/ab-tests.js';

const HOUR_MS = 3_600_000;
const HOST = 'go.tests.example';
/** The destination of links before their test ends. */
const BEFORE = 'https://acme.com/before?utm_medium=mail';
const A = 'https://acme.com/a?utm_source=a';
const B = 'https://acme.com/b?x=1';
const NOTES = 'waymark:link-tests:ended';
const FAILED = 'waymark:link-tests:failed';

let stores: TestStores;
let database: TestDatabase;
let client: Redis;
let catalog: Catalog;
let workspaceId: string;
let keys = 0;
let changed: LinkRecord[] = [];
/** How far the clock of the catalog is ahead. */
let aheadMs = 0;

beforeAll(async () => {
  stores = await startStores();
  ({ database, client } = stores);
  catalog = stores.catalog({ now: () => Date.now() + aheadMs });
  const made = await catalog.workspaces.create({ name: 'T', slug: 'tests', plan: 'enterprise', domain: HOST });
  workspaceId = made.workspace.id;
});
beforeEach(async () => {
  changed = [];
  aheadMs = 0;
  await client.del('waymark:link-tests:until', NOTES, FAILED);
});
afterAll(() => stores.close());

/** A destination with a parameter that the visit added, before its fragment. */
function visited(url: string): string {
  const [before = '', ...fragment] = url.split('#');
  return [`${before}${before.includes('?') ? '&' : '?'}dub=1`, ...fragment].join('#');
}

/** Stores leads of the link, each a millisecond after the other. */
async function storeLeads(link: LinkRecord, url: string, count: number, firstMs: number): Promise<void> {
  const linkId = parseResourceId('link', link.id) ?? '';
  const ids = { workspaceId: parseResourceId('workspace', workspaceId) ?? '', linkId };
  const rows = Array.from({ length: count }, (_, index) => {
    const timestampMs = firstMs + index;
    return aLead({ click: aClick({ ...ids, timestampMs, url: visited(url) }), timestampMs });
  });
  await insertLeads(database.client, rows);
}

/** A link whose test began two hours ago and ended `endedHoursAgo`, or is still running if that is negative; with leads of each destination. */
async function aTest(
  endedHoursAgo: number,
  leads: Readonly<Record<string, number>>,
  variants: readonly string[] = [A, B],
  fields: Partial<LinkRecord> = {},
): Promise<LinkRecord> {
  keys += 1;
  const startedMs = Date.now() - 2 * HOUR_MS;
  const link = await catalog.links.create(workspaceId, {
    domain: HOST,
    key: `test-${keys}`,
    url: BEFORE,
    trackConversion: true,
    testVariants: variants.map((url) => ({ url, percentage: 100 / variants.length })),
    testStartedAt: new Date(startedMs).toISOString(),
    testCompletedAt: new Date(Date.now() - endedHoursAgo * HOUR_MS).toISOString(),
    ...fields,
  });
  for (const [url, count] of Object.entries(leads)) await storeLeads(link, url, count, startedMs + 60_000);
  return link;
}

async function run(options: Partial<AbTestsOptions> = {}): Promise<void> {
  const tests = startAbTests({
    catalog,
    redis: client,
    onChanged: async (link) => {
      changed.push(link);
    },
    logger: {
      info() {},
      error(context: object) {
        throw new Error('failed', { cause: context });
      },
    } as never,
    ...options,
  });
  await tests.run();
  await tests.close();
}

/** Changes a link. */
const set = (link: LinkRecord, fields: Partial<LinkRecord>) =>
  catalog.links.update(workspaceId, link.id, (record) => ({ ...record, ...fields }));
/** Notes the end of a link's test, as a request does that sets it. @returns how to store it then, as the request does */
async function noteEnd(link: LinkRecord, endedMs: number): Promise<() => Promise<LinkRecord>> {
  const testCompletedAt = new Date(endedMs).toISOString();
  await catalog.abTests.noteEnd({ ...link, testCompletedAt });
  return () => set(link, { testCompletedAt });
}
const urlOf = async (link: LinkRecord) => (await catalog.links.get(workspaceId, link.id))?.url;
/** Sets the cursor to three hours ago, so that the next run completes the tests that have ended since. */
const setBackCursor = () => client.set('waymark:link-tests:until', String(Date.now() - 3 * HOUR_MS));

describe('an A/B test that has ended', () => {
  it('makes the variant with the most leads the destination, with its UTM values only, and reports the change once', async () => {
    const link = await aTest(1, { [A]: 5, [B]: 2, [BEFORE]: 9 });
    await setBackCursor();
    const logged: unknown[] = [];
    await run({ logger: { info: (...line: unknown[]) => void logged.push(...line), error: expect.fail } as never });
    // Without the destination, which may have secrets in its query.
    expect(logged).toEqual([{ linkId: link.id }, 'an A/B test of a link is complete']);
    expect(changed.map(({ id, url }) => [id, url])).toEqual([[link.id, A]]);
    expect(await catalog.links.get(workspaceId, link.id)).toMatchObject({ url: A, utm_source: 'a', utm_medium: null });
    await run();
    expect(changed).toHaveLength(1);
  });

  it('changes nothing without leads, and chooses at random between equal variants', async () => {
    const none = await aTest(1, {});
    const tie = await aTest(1, { [A]: 2, [B]: 2 });
    await setBackCursor();
    await run({ random: () => 0.9 });
    expect(await urlOf(none)).toBe(BEFORE);
    expect(await urlOf(tie)).toBe(B);
  });

  it('counts the leads from its start, or else from the creation of the link, until its end', async () => {
    const links: LinkRecord[] = [];
    const createdAt = new Date(Date.now() - 1.5 * HOUR_MS).toISOString();
    for (const fields of [{}, { testStartedAt: null, createdAt }]) {
      for (const isEarly of [true, false]) {
        const link = await aTest(1, {}, [A, B], fields);
        const startMs = Date.parse(link.testStartedAt ?? createdAt);
        const endMs = Date.parse(link.testCompletedAt ?? '');
        for (const atMs of [startMs, endMs - 1]) await storeLeads(link, A, 1, atMs);
        await storeLeads(link, B, 3, isEarly ? startMs - 60_000 : endMs);
        links.push(link);
      }
    }
    await setBackCursor();
    await run();
    expect(await Promise.all(links.map(urlOf))).toEqual([A, A, A, A]);
  });

  it.each([
    ['query', ['https://acme.com/?v=a', 'https://acme.com/?v=b']],
    ['query, one without', ['https://acme.com/', 'https://acme.com/?v=b']],
    ['parameters, one with more', ['https://acme.com/?v=a', 'https://acme.com/?w=1&v=a']],
    ['last parameter without a value', ['https://acme.com/?v=1&a', 'https://acme.com/?v=1&b']],
    ['fragment', ['https://acme.com/#/a', 'https://acme.com/#/b']],
    ['fragment with a query', ['https://acme.com/#/a?x=1', 'https://acme.com/#/b?x=1']],
    ['fragment, one without', ['https://acme.com/?v=a', 'https://acme.com/?v=a#b']],
  ])('distinguishes variants that differ in their %s', async (_what, variants) => {
    const [a = '', b = ''] = variants;
    const [first, second] = [
      await aTest(1, { [a]: 3, [b]: 2 }, variants),
      await aTest(1, { [a]: 2, [b]: 3 }, variants),
    ];
    await setBackCursor();
    await run({ random: () => 0 });
    await setBackCursor();
    await run({ random: () => 0.9 });
    expect([await urlOf(first), await urlOf(second)]).toEqual([a, b]);
  });

  it('counts a lead whose visit replaced the parameter of its variant for all variants of its base URL', async () => {
    const link = await aTest(1, { 'https://acme.com/?v=other': 5, 'https://acme.com/c': 4 }, [
      'https://acme.com/?v=a',
      'https://acme.com/?v=b',
      'https://acme.com/c',
    ]);
    await setBackCursor();
    await run({ random: () => 0 });
    expect(await urlOf(link)).toBe('https://acme.com/?v=a');
  });

  it('keeps a destination that a user sets together with its end or later, but not one that was set while it ran', async () => {
    const choose = async (link: LinkRecord) => {
      const chosen = await set(link, { url: B });
      await catalog.abTests.keepDestination(chosen);
      return chosen;
    };
    const ended = await choose(await aTest(1, { [A]: 3 }));
    const running = await choose(await aTest(-1, { [A]: 3 }));
    // A choice at the end of a test does not count for the next one.
    const again = await choose(await aTest(1, { [A]: 3 }));
    const endedMs = Date.now() - HOUR_MS;
    await set(again, { testCompletedAt: new Date(endedMs + 1).toISOString() });
    await set(running, { testCompletedAt: new Date(endedMs).toISOString() });
    await setBackCursor();
    await run();
    expect([await urlOf(ended), await urlOf(running), await urlOf(again)]).toEqual([B, A, A]);
  });

  it('keeps a destination that a user sets even if the process ends right after that, and ignores one that was not stored', async () => {
    const [stored, failed] = [await aTest(1, { [A]: 3 }), await aTest(1, { [A]: 3 })];
    for (const link of [stored, failed]) await catalog.abTests.noteChoice({ ...link, url: B });
    await set(stored, { url: B });
    await setBackCursor();
    await run();
    expect([await urlOf(stored), await urlOf(failed)]).toEqual([B, A]);
  });

  it('is not completed before it ends, nor while its last leads may be in the queue', async () => {
    const running = await aTest(-1, { [A]: 3 });
    const justNow = await aTest(0, { [A]: 3 });
    await setBackCursor();
    await run();
    expect([await urlOf(running), await urlOf(justNow)]).toEqual(Array(2).fill(BEFORE));
  });

  it.each(['lost', 'a day ahead'])(
    'is completed with a cursor that is %s, unless the link was changed since',
    async (is) => {
      const links = [await aTest(1, { [A]: 3 }), await aTest(-1, { [A]: 3 })];
      if (is !== 'lost') await client.set('waymark:link-tests:until', String(Date.now() + 24 * HOUR_MS));
      await run({ now: () => Date.now() + 2 * HOUR_MS });
      expect(await Promise.all(links.map(urlOf))).toEqual([BEFORE, A]);
    },
  );

  it('is completed if a user sets its end to a time before the last run, once its last leads are stored', async () => {
    const links = [await aTest(-1, { [A]: 3 }), await aTest(-1, { [A]: 3 })];
    await run();
    for (const [index, link] of links.entries()) {
      const store = await noteEnd(link, Date.now() - (1 - index) * HOUR_MS);
      await store();
    }
    const urls = () => Promise.all(links.map(urlOf));
    await run();
    expect(await urls()).toEqual([A, BEFORE]);
    await run({ now: () => Date.now() + 61_000 });
    expect(await urls()).toEqual([A, A]);
    expect(await client.exists(NOTES)).toBe(0);
  });

  it('is completed if a run finds the note of its end before the link has it; notes of ends that no link has are removed', async () => {
    const [link, other] = [await aTest(-1, { [A]: 3 }), await aTest(-1, { [A]: 3 })];
    await run();
    const store = await noteEnd(link, Date.now() - HOUR_MS);
    await noteEnd(other, Date.now() - HOUR_MS);
    await run();
    await store();
    await run();
    expect([await urlOf(link), await urlOf(other)]).toEqual([A, BEFORE]);
    expect(await client.scard(NOTES)).toBe(1);
    aheadMs = 121_000;
    await run();
    expect(await client.exists(NOTES)).toBe(0);
  });

  it('is completed if a user sets another past end while a run looks at the one before', async () => {
    const link = await aTest(-1, { [A]: 3 });
    await run();
    await (await noteEnd(link, Date.now() - HOUR_MS))();
    let again: Promise<unknown> | undefined;
    const random = () => {
      const endedMs = Date.now() - HOUR_MS / 2;
      const stored = set(link, { testCompletedAt: new Date(endedMs).toISOString() });
      again = Promise.all([stored, noteEnd(link, endedMs)]);
      return 0;
    };
    await run({ random });
    await again;
    expect(await urlOf(link)).toBe(BEFORE);
    await run();
    expect(await urlOf(link)).toBe(A);
  });

  /** Completes only tests whose ends are noted. @returns the ids of the links that this has changed */
  async function completeNoted(random: () => number, leaseLost = new AbortController().signal): Promise<string[]> {
    const untilMs = Date.now() - 60_000;
    const within = { fromMs: untilMs, untilMs, untouchedOnly: false, random };
    const ids: string[] = [];
    await catalog.abTests.complete(within, { leaseLost, onChanged: async ({ id }) => void ids.push(id) });
    return ids;
  }

  it('is not reported by a run during which another change sets the same destination', async () => {
    const link = await aTest(-1, { [A]: 3 });
    await (await noteEnd(link, Date.now() - HOUR_MS))();
    let other: Promise<LinkRecord> | undefined;
    const random = () => {
      other = set(link, { url: A });
      return 0;
    };
    expect(await completeNoted(random)).toEqual([]);
    expect((await other)?.url).toBe(A);
  });

  it('is left to the next run, with its note, once the lease of a run is lost', async () => {
    const links = [await aTest(-1, { [A]: 3 }), await aTest(-1, { [A]: 3 })];
    for (const link of links) await (await noteEnd(link, Date.now() - HOUR_MS))();
    const lease = new AbortController();
    const random = () => {
      lease.abort();
      return 0;
    };
    const first = await completeNoted(random, lease.signal);
    const second = await completeNoted(() => 0);
    expect([first.length, second.length]).toEqual([1, 1]);
    expect([...first, ...second].toSorted()).toEqual(links.map(({ id }) => id).toSorted());
  });

  it('is reported before the next one is completed, so that a killed run loses one report at most', async () => {
    const links = [await aTest(-1, { [A]: 3 }), await aTest(-1, { [A]: 3 })];
    for (const link of links) await (await noteEnd(link, Date.now() - HOUR_MS))();
    const completed: number[] = [];
    const onChanged = async () => {
      const urls = await Promise.all(links.map(urlOf));
      completed.push(urls.filter((url) => url === A).length);
    };
    await run({ onChanged });
    expect(completed).toEqual([1, 2]);
  });

  it('is completed although another one cannot be, which is reported and tried again', async () => {
    const links = [await aTest(1, { [A]: 3 }), await aTest(1, { [A]: 3 }), await aTest(1, { [A]: 3 })];
    await (await noteEnd(await aTest(-1, { [A]: 3 }), Date.now() - HOUR_MS))();
    await setBackCursor();
    const reports: { linkId?: string }[] = [];
    let calls = 0;
    const random = () => {
      calls += 1;
      // The first is the noted one, the second one of the others.
      if (calls <= 2) throw new Error('no choice');
      return 0;
    };
    const logger = { info() {}, error: (context: object) => void reports.push(context) } as never;
    await run({ random, logger });
    const failed = reports.map(({ linkId }) => linkId);
    expect([failed.length, await client.scard(NOTES), await client.scard(FAILED)]).toEqual([2, 1, 1]);
    for (const link of links) expect(await urlOf(link)).toBe(failed.includes(link.id) ? BEFORE : A);
    await run();
    expect(await Promise.all(links.map(urlOf))).toEqual([A, A, A]);
    expect(await client.exists(NOTES, FAILED)).toBe(0);
  });

  it('is reported although the run fails after its link was changed', async () => {
    const link = await aTest(-1, { [A]: 3 });
    await (await noteEnd(link, Date.now() - HOUR_MS))();
    await client.set('waymark:link-tests:until', '1');
    const reports: object[] = [];
    const random = () => {
      // The note cannot be removed then: Redis answers that the key has another type.
      void client.set(NOTES, 'not a set');
      return 0;
    };
    await run({ random, logger: { info() {}, error: (context: object) => void reports.push(context) } as never });
    expect(changed.map(({ id, url }) => [id, url])).toEqual([[link.id, A]]);
    expect(reports).toMatchObject([{ err: { cause: { message: expect.stringContaining('WRONGTYPE') } } }]);
    expect(await client.get('waymark:link-tests:until')).toBe('1');
  });

  it('is completed by one writer', async () => {
    const link = await aTest(1, { [B]: 1 });
    await setBackCursor();
    await Promise.all([run(), run()]);
    expect(changed.map(({ id }) => id).filter((id) => id === link.id)).toHaveLength(1);
  });

  it('is completed by one writer, however long that takes', async () => {
    const link = await aTest(1, { [B]: 1 });
    await setBackCursor();
    const turn = 'waymark:link-tests:turn';
    let renewals = 0;
    // Tests with equal variants may change again, because the cursor was set back.
    const onChanged = async ({ id }: LinkRecord) => {
      if (id !== link.id) return;
      await client.pexpire(turn, 4_000);
      await waitFor(async () => (await client.pttl(turn)) > 4_000, { what: 'the turn of the writer to be renewed' });
      renewals += 1;
    };
    await run({ onChanged });
    expect(renewals).toBe(1);
    expect(await client.exists(turn)).toBe(0);
  });
});
