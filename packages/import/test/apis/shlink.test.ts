import { describe, expect, it, onTestFinished } from 'vitest';
import { openApi } from '../../src/index.js';
import { KEY, NOW, outbound, read } from './read-api.js';
import { type StubAnswer, type StubRequest, startStub } from './stub-server.js';

describe('an API', () => {
  it('of Shlink that lists a link twice, as a database may that sorts by equal times, is read to its end', async () => {
    const page = (number: number) =>
      Array.from({ length: 3 }, (_, index) => ({
        ...{ shortCode: `${(3 * number + index) % 5}`, longUrl: 'https://a.test', domain: 's.test' },
      }));
    const { keys } = await read('shlink', ({ query }) => ({
      json: { shortUrls: { data: page(Number(query.page)), pagination: { pagesCount: 4 } } },
    }));
    expect(keys).toEqual(['3', '4', '0', '1', '2', '3', '4', '0', '1', '2', '3', '4']);
  });

  /** A stub of Shlink with links k0, k1, …, of which some have rules. The second argument of `before` deletes a link. */
  function shlinkOf(
    count: number,
    hasRedirectRules: (key: string) => boolean,
    before: (request: StubRequest, remove: (key: string) => void) => StubAnswer | undefined,
  ) {
    let left = Array.from({ length: count }, (_, n) => `k${n}`);
    return (request: StubRequest): StubAnswer => {
      const early = before(request, (key) => {
        left = left.filter((other) => other !== key);
      });
      if (early !== undefined) return early;
      if (request.path.endsWith('/redirect-rules')) return { json: { redirectRules: [] } };
      const at = Number(request.query.page);
      const data = left.slice((at - 1) * 100, at * 100).map((shortCode) => ({
        ...{ shortCode, longUrl: 'https://a.test', hasRedirectRules: hasRedirectRules(shortCode) },
      }));
      const pagination = { pagesCount: Math.ceil(left.length / 100), totalItems: left.length };
      return { json: { shortUrls: { data, pagination } } };
    };
  }

  it('of Shlink is read with all other links if some are deleted, which moves the others to earlier pages', async () => {
    const refused = ['k3', 'k100', 'k150'];
    const answer = shlinkOf(
      203,
      (key) => refused.includes(key),
      ({ path }, remove) => {
        const key = /short-urls\/([^/]+)\/redirect-rules$/.exec(path)?.[1];
        if (key === undefined) return undefined;
        remove(key);
        return { status: 404, json: {} };
      },
    );
    const { keys, errors } = await read('shlink', answer);
    expect(keys).toEqual(Array.from({ length: 203 }, (_, n) => `k${n}`).filter((key) => !refused.includes(key)));
    expect(errors).toHaveLength(3);
  });

  it('of Shlink is read with all other links if many without rules are deleted on pages that were read', async () => {
    const deleted = new Map([
      ['2', ['k3']],
      ['4', Array.from({ length: 150 }, (_, n) => `k${n + 5}`)],
    ]);
    const answer = shlinkOf(
      450,
      () => false,
      ({ query }, remove) => {
        for (const key of deleted.get(query.page ?? '') ?? []) remove(key);
        deleted.delete(query.page ?? '');
        return undefined;
      },
    );
    const { keys } = await read('shlink', answer);
    expect(keys).toEqual(Array.from({ length: 450 }, (_, n) => `k${n}`));
    expect(deleted.size).toBe(0);
  });

  it('of Shlink whose list becomes shorter again and again ends the import', async () => {
    const link = { shortCode: 'a', longUrl: 'https://a.test' };
    const reading = read('shlink', (_request, number) => ({
      json: { shortUrls: { data: [link], pagination: { pagesCount: 9, totalItems: 1_000 - number } } },
    }));
    await expect(reading).rejects.toThrow('the links of the source change while they are read');
  });

  it('of Shlink has the rules of one link in memory at a time', async () => {
    const link = (key: string) => ({ shortCode: key, longUrl: 'https://a.test', hasRedirectRules: true });
    const stub = await startStub(({ path }) => ({
      json: path.endsWith('/redirect-rules')
        ? { redirectRules: [] }
        : { shortUrls: { data: ['a', 'b', 'c'].map(link), pagination: { pagesCount: 1 } } },
    }));
    onTestFinished(() => stub.close());
    const { rows } = await openApi({
      ...{ source: 'shlink', address: stub.address, credential: KEY, outbound, readsCounts: false },
      ...{ now: () => NOW, wait: async () => undefined },
    });
    const countReads = () => stub.requests.filter(({ path }) => path.endsWith('/redirect-rules')).length;
    const readsAtRow: number[] = [];
    for await (const _row of rows) readsAtRow.push(countReads());
    expect(readsAtRow).toEqual([1, 2, 3]);
  });
});
