import { parseResourceId } from '@waymark/contract';
import { createVisitReader } from '@waymark/visit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DOMAIN, startIngest, type TestIngest } from './test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest(
    { readVisit: createVisitReader({ trustedProxies: ['10.0.0.0/8'], identitySalt: 'salt', geoEdge: 'cloudflare' }) },
    { redirectWaitMs: 15_000 },
  );
});
afterAll(() => ingest.stop());

/** Counts the queries that `work` sends to ClickHouse. */
async function queriesOf(work: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(ingest.clickhouse, 'rows');
  await work();
  const count = query.mock.calls.length;
  query.mockRestore();
  return count;
}

/** Sends visits, a hundred at a time. */
async function flood(requests: readonly { readonly path: string; readonly host: string }[]): Promise<void> {
  for (let start = 0; start < requests.length; start += 100) {
    const answers = await Promise.all(
      requests.slice(start, start + 100).map(({ path, host }) => ingest.visit(path, { host })),
    );
    for (const { statusCode } of answers) expect(statusCode).toBe(404);
  }
}

describe('a flood of visits to links that do not exist', () => {
  it('the same unknown key reaches ClickHouse once per cache period', async () => {
    const requests = Array.from({ length: 500 }, () => ({ path: '/nobody', host: DOMAIN }));
    expect(await queriesOf(() => flood(requests))).toBeLessThanOrEqual(6);
  });

  it.each([
    ['', 'in one encoding', 100],
    [encodeURIComponent('ü').concat('/'), 'in two encodings', 200],
  ])('a thousand different keys /%s… %s are looked up in batches of fifty', async (start, _encodings, queriesMax) => {
    const requests = Array.from({ length: 1000 }, (_, index) => ({ path: `/${start}scan-${index}`, host: DOMAIN }));
    expect(await queriesOf(() => flood(requests))).toBeLessThanOrEqual(queriesMax);
    // A repeated scan is answered from the cache.
    expect(await queriesOf(() => flood(requests.slice(-100)))).toBeLessThanOrEqual(6);
  });

  it('a thousand different hosts are looked up in batches as well', async () => {
    const requests = Array.from({ length: 1000 }, (_, index) => ({ path: '/', host: `h${index}.example` }));
    expect(await queriesOf(() => flood(requests))).toBeLessThanOrEqual(200);
  });

  it('invalid hosts and keys cause no query', async () => {
    const impossible = [
      { path: `/${'x'.repeat(2000)}`, host: 'known-length.example' },
      { path: '/a', host: 'x'.repeat(300) },
      { path: '/a', host: 'a b' },
      { path: '/%00', host: 'control.example' },
    ];
    await flood([
      { path: '/', host: 'known-length.example' },
      { path: '/', host: 'control.example' },
    ]);
    expect(await queriesOf(() => flood(impossible))).toBe(0);
  });

  it('does not delay visits of existing links', async () => {
    const { key } = await ingest.link();
    const scan = Array.from({ length: 300 }, (_, index) => ({ path: `/more-${index}`, host: DOMAIN }));
    const [answer] = await Promise.all([ingest.visit(`/${key}`), flood(scan)]);
    expect(answer.statusCode).toBe(302);
  });
});

describe('forwarding headers', () => {
  it('from a peer that is not a configured proxy are ignored: neither address nor country counts', async () => {
    const link = await ingest.link({ geo: { DE: 'https://acme.de/' } });
    const answer = await ingest.visit(`/${link.key}`, { 'x-forwarded-for': '203.0.113.9', 'cf-ipcountry': 'DE' });
    expect(answer.headers.location).toBe('https://acme.com/pricing');
    const id = parseResourceId('link', link.id);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {id:UInt64}', { id });
    expect(click).toMatchObject({ ip: '', country: 'Unknown' });
  });
});
