import { describe, expect, it, onTestFinished } from 'vitest';
import { openApi } from '../../src/index.js';
import { KEY, NOW, outbound, type Reading, read } from './read-api.js';
import { type StubAnswer, type StubRequest, startStub } from './stub-server.js';

describe('an API', () => {
  describe('with a request for each link', () => {
    const answersOf =
      (count: number, refusals: Readonly<Record<number, number>>) =>
      ({ path }: StubRequest): StubAnswer => {
        if (path === '/groups') return { json: { groups: [{ guid: 'g1' }] } };
        const number = Number(/b\.test\/(\d+)\//.exec(path)?.[1]);
        if (refusals[number] !== undefined) return { status: refusals[number], json: { message: 'NO' } };
        if (path.endsWith('/summary')) return { json: { total_clicks: number } };
        return {
          json: {
            links: Array.from({ length: count }, (_, n) => ({ id: `b.test/${n + 1}`, long_url: 'https://a.test' })),
          },
        };
      };
    const bitly = (count: number, refusals: Record<number, number>, options: Reading = {}) =>
      read('bitly', answersOf(count, refusals), { readsCounts: true, ...options });

    it('is read to its end if some links are deleted or refused', async () => {
      const { links, errors, lost } = await bitly(5, { 2: 403, 3: 404, 5: 402 });
      expect(links.map(({ row, key, counts }) => [row, key, counts?.clicks])).toEqual([
        [1, '1', 1],
        [2, '2', undefined],
        [4, '4', 4],
        [5, '5', undefined],
      ]);
      expect(errors).toEqual([expect.stringMatching(/answers 404: .*NO/)]);
      expect(lost).toEqual([
        { row: 2, field: 'total_clicks', reason: expect.stringMatching(/^is not returned by the source: .*403.*NO/) },
        { row: 5, field: 'total_clicks', reason: expect.stringContaining('402') },
      ]);
    });

    it('ends at many refusals in a row, and has passed on none of these links', async () => {
      const refusals = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [n + 3, 403]));
      const stub = await startStub(answersOf(30, refusals));
      onTestFinished(() => stub.close());
      const { rows } = await openApi({
        ...{ source: 'bitly', address: stub.address, credential: KEY, outbound, readsCounts: true },
        ...{ now: () => NOW, wait: async () => undefined },
      });
      const passed: number[] = [];
      const reading = (async () => {
        for await (const { row } of rows) passed.push(row);
      })();
      await expect(reading).rejects.toThrow('refuses the credentials (403)');
      expect(passed).toEqual([1, 2]);
      expect(stub.requests.filter(({ path }) => path.endsWith('/summary')).length).toBe(22);
    });

    it('ends at refused rules of Shlink before others are passed on, also with links without rules among them', async () => {
      const links = Array.from({ length: 60 }, (_, n) => ({
        ...{ shortCode: `k${n}`, longUrl: 'https://a.test', hasRedirectRules: n % 2 === 1 },
      }));
      const stub = await startStub(({ path }) =>
        path.endsWith('/redirect-rules')
          ? { status: 403, json: { title: 'no rules for this key' } }
          : { json: { shortUrls: { data: links, pagination: { pagesCount: 1 } } } },
      );
      onTestFinished(() => stub.close());
      const { rows } = await openApi({
        ...{ source: 'shlink', address: stub.address, credential: KEY, outbound, readsCounts: false },
        ...{ now: () => NOW, wait: async () => undefined },
      });
      const passed: number[] = [];
      const reading = (async () => {
        for await (const { row } of rows) passed.push(row);
      })();
      await expect(reading).rejects.toThrow('no rules for this key');
      expect(passed).toEqual([1]);
    });

    it('keeps back 500 links at most after a refusal', async () => {
      const link = (n: number) => ({ shortCode: `k${n}`, longUrl: 'https://a.test', hasRedirectRules: n === 1 });
      const stub = await startStub(({ path, query }) => {
        if (path.endsWith('/redirect-rules')) return { status: 403, json: { title: 'no rules for this key' } };
        const page = Number(query.page);
        if (page > 6) return { status: 401, json: {} };
        const data = Array.from({ length: 100 }, (_, n) => link(100 * (page - 1) + n + 1));
        return { json: { shortUrls: { data, pagination: { pagesCount: 7 } } } };
      });
      onTestFinished(() => stub.close());
      const { rows } = await openApi({
        ...{ source: 'shlink', address: stub.address, credential: KEY, outbound, readsCounts: false },
        ...{ now: () => NOW, wait: async () => undefined },
      });
      const passed: number[] = [];
      const reading = (async () => {
        for await (const { row } of rows) passed.push(row);
      })();
      await expect(reading).rejects.toThrow('401');
      expect(passed).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
    });

    it('sends none for links that an earlier run has processed', async () => {
      const { links, requests } = await bitly(5, {}, { doneRows: 3 });
      expect(links.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5]);
      expect(requests.flatMap(({ path }) => (path.endsWith('/summary') ? [path] : []))).toEqual([
        '/bitlinks/b.test/4/clicks/summary',
        '/bitlinks/b.test/5/clicks/summary',
      ]);
    });
  });
});
