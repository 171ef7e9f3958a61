import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { aWorkspace, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

/** The page of a first request is read together with what decides about it. */

let query: TestQuery;
/** Log comments of the statements that were sent, by what they end with. */
const sent: string[] = [];
let isHeld = false;
const isPageSent = () => sent.some((comment) => comment.endsWith(' reads events clicks'));

beforeAll(async () => {
  query = await startQuery(undefined, {
    clickhouseFor: async ({ client }) =>
      new Proxy(client, {
        get(target, name) {
          if (name !== 'rows') return Reflect.get(target, name);
          return async (read: Parameters<ClickHouseClient['rows']>[0]) => {
            const comment = String(read.settings?.log_comment);
            sent.push(comment);
            if (isHeld && comment.endsWith(' removed')) await waitFor(isPageSent, { what: 'the page to be read' });
            return target.rows(read);
          };
        },
      }),
  });
  await waitFor(query.catalog.isSubscribed, { what: 'the lease of the caches' });
});
afterEach(() => {
  sent.length = 0;
  isHeld = false;
  vi.restoreAllMocks();
});
afterAll(() => query.close());

/** Ten clicks of a link that exists, and two newer ones of a link that was removed. */
async function withRemoved(): Promise<TestWorkspace> {
  const workspace = await aWorkspace(query);
  const [kept, removed] = [await workspace.aLink({ key: 'kept' }), await workspace.aLink({ key: 'removed' })];
  const clicks = Array.from({ length: 12 }, (_, index) => workspace.click(index < 2 ? removed : kept, index + 1));
  await workspace.store({ clicks });
  await workspace.remove(removed);
  return workspace;
}

describe('the first page that a process reads of a workspace', () => {
  it('does not wait for removed links, nor for the events of the month', async () => {
    const workspace = await aWorkspace(query);
    await workspace.store({ clicks: [workspace.click(await workspace.aLink({ key: 'a' }), 1)] });
    isHeld = true;
    const check = vi.spyOn(query.catalog.eventUsage, 'check');
    check.mockImplementation(async () => {
      await waitFor(isPageSent, { what: 'the page to be read' });
    });
    expect((await workspace.events({ interval: '24h' })).body).toHaveLength(1);
    expect(sent.filter((comment) => comment.endsWith(' removed'))).toHaveLength(1);
  });

  it('has no events of removed links, from whatever event or row it begins', async () => {
    const whole = await withRemoved();
    expect((await whole.events({ interval: '24h' })).body).toHaveLength(10);
    const begun = await withRemoved();
    const first = await begun.events({ interval: '24h', limit: '2' });
    expect(first.body).toHaveLength(2);
    const offset = await withRemoved();
    const second = await offset.events({ interval: '24h', limit: '2', page: '2' });
    const minutes = second.body.map(({ timestamp }) => timestamp);
    expect(minutes).toEqual((await offset.events({ interval: '24h' })).body.slice(2, 4).map((one) => one.timestamp));
  });

  it('that nothing was removed from is read once, with removed links in the workspace', async () => {
    const workspace = await withRemoved();
    const kept = await workspace.aLink({ key: 'other' });
    await workspace.store({ clicks: [workspace.click(kept, 0)] });
    expect((await workspace.events({ interval: '24h', limit: '1' })).body).toHaveLength(1);
    expect(sent.filter((comment) => comment.endsWith(' reads events clicks'))).toHaveLength(1);
  });

  it('is not sent when the workspace has used up its plan', async () => {
    const workspace = await withRemoved();
    vi.spyOn(query.catalog.eventUsage, 'check').mockRejectedValue(new ApiError('forbidden', 'too many'));
    const answer = await workspace.events({ interval: '24h' });
    expect(answer).toMatchObject({ status: 403, body: { error: { message: 'too many' } } });
    expect(answer.headers.link).toBeUndefined();
  });
});
