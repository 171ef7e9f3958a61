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
}, 60_000);
afterAll(() => ingest.stop());

/** How many queries `work` sends to ClickHouse; they are answered as ever. */
async function queriesOf(work: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(ingest.clickhouse, 'rows');
  await work();
  const count = query.mock.calls.length;
  query.mockRestore();
  return count;
}

/** Visits a hundred at a time, as connections would bring them. */
async function flood(requests: readonly { readonly path: string; readonly host: string }[]): Promise<void> {
  for (let start = 0; start < requests.length; start += 100) {
    const answers = await Promise.all(
      requests.slice(start, start + 100).map(({ path, host }) => ingest.visit(path, { host })),
    );
    for (const { statusCode } of answers) expect(statusCode).toBe(404);
  }
}

describe('a flood of addresses that nobody has', () => {
  it('the same key again and again reaches ClickHouse once in seconds', async () => {
    const requests = Array.from({ length: 500 }, () => ({ path: '/nobody', host: DOMAIN }));
    expect(await queriesOf(() => flood(requests))).toBeLessThanOrEqual(6);
  });

  it('a thousand keys, each another, are asked for fifty at once', async () => {
    const requests = Array.from({ length: 1000 }, (_, index) => ({ path: `/scan-${index}`, host: DOMAIN }));
    expect(await queriesOf(() => flood(requests))).toBeLessThanOrEqual(100);
    // A scanner that comes back is answered from memory.
    expect(await queriesOf(() => flood(requests.slice(-100)))).toBeLessThanOrEqual(6);
  });

  it('a thousand hosts, each another, likewise', async () => {
    const requests = Array.from({ length: 1000 }, (_, index) => ({ path: '/', host: `h${index}.example` }));
    expect(await queriesOf(() => flood(requests))).toBeLessThanOrEqual(200);
  });

  it('hosts and keys that cannot exist are not asked for at all', async () => {
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

  it('does not keep anybody from links that are there', async () => {
    const { key } = await ingest.link();
    const scan = Array.from({ length: 300 }, (_, index) => ({ path: `/more-${index}`, host: DOMAIN }));
    const [answer] = await Promise.all([ingest.visit(`/${key}`), flood(scan)]);
    expect(answer.statusCode).toBe(302);
  });
});

describe('forwarding headers', () => {
  it('of a peer that is no configured proxy are not believed: neither address nor country', async () => {
    const link = await ingest.link({ geo: { DE: 'https://acme.de/' } });
    const answer = await ingest.visit(`/${link.key}`, { 'x-forwarded-for': '203.0.113.9', 'cf-ipcountry': 'DE' });
    expect(answer.headers.location).toBe('https://acme.com/pricing');
    const id = parseResourceId('link', link.id);
    const [click] = await ingest.rowsWhen(1, 'click_events', 'link_id = {id:UInt64}', { id });
    expect(click).toMatchObject({ ip: '', country: 'Unknown' });
  });
});
