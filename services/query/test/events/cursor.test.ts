import type { AddressInfo } from 'node:net';
import { Dub } from 'dub';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  aWorkspace,
  NOW,
  startQuery,
  type TestQuery,
  type TestWorkspace,
  withScopes,
} from '../test-query.js';

const DAY_MS = 24 * 3_600_000;
let nowMs = NOW;
let query: TestQuery;
let workspace: TestWorkspace;

beforeAll(async () => {
  query = await startQuery(() => nowMs);
  workspace = await aWorkspace(query);
});
afterAll(() => query.close());

const clickIds = ({ body }: Answer) => body.map((item) => ('click_id' in item ? item.click_id : ''));

/** The query string of the next page, from the `Link` header. */
function next({ headers }: Answer): string | undefined {
  const link = headers.link === undefined ? undefined : /^<([^>]*)>; rel="next"$/.exec(String(headers.link));
  if (link === null) throw new Error(`not a link to a next page: ${String(headers.link)}`);
  return link === undefined
    ? undefined
    : new URL(link[1]!, 'https://api.example.com/prefix/events?x=1').search.slice(1);
}

async function aWorkspaceWithClicks(count: number) {
  const fresh = await aWorkspace(query);
  const link = await fresh.aLink({ key: 'a' });
  // Groups of three clicks in the same millisecond.
  const clicks = Array.from({ length: count }, (_, index) => fresh.click(link, Math.floor(index / 3)));
  await fresh.store({ clicks });
  const newestFirst = clicks
    .map((row) => ({ id: String(row[2]), ms: Number(row[1]) }))
    .sort((a, b) => b.ms - a.ms || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);
  return { workspace: fresh, link, newestFirst };
}

describe('the Link header', () => {
  test('links each full page to the next, to the end of the list', async () => {
    const { workspace: fresh, newestFirst } = await aWorkspaceWithClicks(10);
    const first = await fresh.events({ limit: '5', city: 'Paris', timezone: 'Asia/Kolkata', page: '1' });
    expect(first.headers.link).toMatch(/^<\?.*limit=5.*cursor=[\w-]+>; rel="next"$/);
    expect(first.headers.link).not.toContain('page=');
    const second = await fresh.events(next(first));
    const third = await fresh.events(next(second));
    expect([first, second].flatMap(clickIds)).toEqual(newestFirst);
    // The second page was full, so it has a link although no events follow.
    expect(third).toMatchObject({ status: 200, body: [] });
    expect(third.headers).not.toHaveProperty('link');
  });

  test('is absent on a page that is not full, and present on pages by number', async () => {
    const { workspace: fresh, newestFirst } = await aWorkspaceWithClicks(7);
    expect((await fresh.events({ limit: '8' })).headers).not.toHaveProperty('link');
    expect((await fresh.events({ limit: '3', page: '3' })).headers).not.toHaveProperty('link');
    const rest = await fresh.events(next(await fresh.events({ limit: '3', page: '2' })));
    expect(clickIds(rest)).toEqual(newestFirst.slice(6));
  });

  test('contains all parameters, with any characters', async () => {
    const { workspace: fresh } = await aWorkspaceWithClicks(3);
    const parameters = {
      limit: '1',
      city: '-a b&c=d"<>é😀%,\\',
      tagIds: '',
      interval: 'all',
      order: 'asc',
      root: 'FALSE',
    };
    const first = await fresh.events(parameters);
    expect(Object.fromEntries(new URLSearchParams(next(first)))).toMatchObject({
      city: parameters.city,
      root: 'false',
    });
    expect((await fresh.events(next(first))).body).toHaveLength(1);
  });

  test('contains only the cursor for a request that is too long for a header', async () => {
    const { workspace: fresh, newestFirst } = await aWorkspaceWithClicks(3);
    const city = `-${'東'.repeat(5_000)}`;
    const first = await fresh.events({ limit: '1', city });
    const link = next(first);
    expect([...new URLSearchParams(link).keys()]).toEqual(['cursor']);
    const second = await fresh.events({ limit: '1', city, cursor: new URLSearchParams(link).get('cursor')! });
    expect(clickIds(second)).toEqual([newestFirst[1]]);
    // Without the filter it is a different list.
    expect(await fresh.events(link)).toMatchObject({ status: 422 });
  });

  test('is ignored by the SDK, which requests pages by number', async () => {
    const { workspace: fresh, newestFirst } = await aWorkspaceWithClicks(5);
    await query.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = query.app.server.address() as AddressInfo;
    const dub = new Dub({ token: fresh.token, serverURL: `http://127.0.0.1:${port}` });
    const pages = await Promise.all([1, 2, 3].map((page) => dub.events.list({ limit: 2, page })));
    expect(pages.flat().map((item) => ('click' in item ? item.click.id : ''))).toEqual(newestFirst);
  });
});

describe('a list that is read by cursor', () => {
  test('does not change, even if events arrive and a day passes', async () => {
    const { workspace: fresh, link, newestFirst } = await aWorkspaceWithClicks(5);
    for (const [sortOrder, expected] of [
      ['desc', newestFirst],
      ['asc', newestFirst.toReversed()],
    ] as const) {
      nowMs = NOW;
      const seen: string[] = [];
      let parameters: string | undefined = `sortOrder=${sortOrder}&limit=2`;
      while (parameters !== undefined) {
        const page: Answer = await fresh.events(parameters);
        expect(page.status).toBe(200);
        seen.push(...clickIds(page));
        parameters = next(page);
        nowMs += DAY_MS;
        await fresh.store({ clicks: [fresh.click(link, -2 * 24 * 60)] });
      }
      // The 24 hours before the first request.
      expect(seen).toEqual(expected);
    }
    nowMs = NOW;
  });

  test('can be a list of leads or sales', async () => {
    const fresh = await aWorkspace(query);
    const click = fresh.click(await fresh.aLink({ key: 'a' }), 60);
    const ada = await fresh.aCustomer({ externalId: 'ada' });
    const leads = [1, 2, 3].map((minutes) => fresh.lead(click, ada, minutes));
    const sales = [1, 2, 3].map((minutes) => fresh.sale(click, ada, minutes));
    await fresh.store({ clicks: [click], leads, sales });
    for (const event of ['leads', 'sales']) {
      const first = await fresh.events({ event, limit: '2' });
      const second = await fresh.events(next(first));
      expect([...first.body, ...second.body].map((item) => 'eventId' in item && item.eventId)).toEqual(
        (event === 'leads' ? leads : sales).map((row) => row[2]),
      );
      expect(second.headers).not.toHaveProperty('link');
    }
  });
});

describe('an invalid cursor', () => {
  test.each([
    ['garbage', (cursor: string) => `cursor=${cursor.slice(0, -1)}!`],
    ['a short text', () => 'cursor=x'],
    ['too long a text', () => `cursor=${'A'.repeat(500)}`],
    ['another kind', (cursor: string) => `cursor=${cursor}&event=sales`],
    ['another order', (cursor: string) => `cursor=${cursor}&sortOrder=asc`],
    ['another range', (cursor: string) => `cursor=${cursor}&interval=30d`],
    ['another filter', (cursor: string) => `cursor=${cursor}&country=FR`],
    ['a page number', (cursor: string) => `cursor=${cursor}&page=2`],
  ])('is refused with the name of the parameter: %s', async (_what, change) => {
    const { workspace: fresh } = await aWorkspaceWithClicks(2);
    const cursor = new URLSearchParams(next(await fresh.events({ limit: '1' }))).get('cursor')!;
    const answer = await fresh.events(change(cursor));
    expect(answer).toMatchObject({ status: 422, body: { error: { code: 'unprocessable_entity' } } });
    expect(answer.body.error.message).toMatch(/^\w+: cursor: /);
    expect((await fresh.events(`cursor=${cursor}&limit=7&page=1`)).status).toBe(200);
  });

  test('is one of another workspace; other keys of the same workspace may use it', async () => {
    const { workspace: fresh } = await aWorkspaceWithClicks(2);
    const parameters = next(await fresh.events({ limit: '1' }))!;
    expect(await workspace.events(parameters)).toMatchObject({ status: 422 });
    const other = await withScopes(fresh, ['analytics.read']);
    expect((await other.events(parameters)).body).toHaveLength(1);
  });

  test('does not include the empty text, which is treated as absent', async () => {
    expect((await workspace.events('cursor=&page=3')).status).toBe(200);
  });
});
