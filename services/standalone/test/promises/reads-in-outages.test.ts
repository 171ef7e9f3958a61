import { elapsedMs, leastOf, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';

/** Reads through another process during faults of that process or of Redis. */

const ANSWER_MS_MAX = 3_000;
let two: TwoApis;
let links = 0;

beforeAll(async () => {
  two = await startTwoApis();
}, 180_000);
afterAll(() => two.close());

/** Creates a link that the other process has cached. */
async function aLinkCachedByTheOther() {
  const [writer, other] = two.apis;
  links += 1;
  const [key, url] = [`cached-${links}`, 'https://acme.example/before'];
  const { id } = await writer.dub.links.create({ domain: two.domain, key, url });
  const seen = async () => (await other.visit(two.domain, `/${key}`)).location;
  for (let time = 0; time < 3; time++) expect(await seen()).toBe(url);
  const change = (to: string) => writer.call('PATCH', `/links/${id}`, { url: to });
  const read = async () => (await other.call<{ url: string }>('GET', `/links/${id}`)).body.url;
  return { id, seen, change, read };
}

/** How many links the other process has read from its own cache. Reads of the API use it only while the process holds its lease. */
async function cachedReadsOfTheOther() {
  const headers = { authorization: `Bearer ${two.adminKey}` };
  const metrics = await (await fetch(`${two.apis[1].url}/metrics`, { headers })).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith('waymark_catalog_lookups_total{'));
  const line = lines.find((one) => one.includes('kind="links"') && one.includes('from="memory"'));
  return Number(line?.split(' ').at(-1));
}

describe('another process that is stopped', () => {
  it('delays a write for at most its lease, and serves no older copies when it continues', async () => {
    const [writer, other] = two.apis;
    const key = await two.withCatalog(({ keys }) =>
      keys.create({ workspaceId: two.workspaceId, name: 'Key', kind: 'secret', role: 'owner', scopes: [] }),
    );
    const asOther = () => other.call('GET', '/tags', undefined, key.token);
    expect((await asOther()).status).toBe(200);
    const writeMs = async () => {
      const { seen, change, read } = await aLinkCachedByTheOther();
      let ms = 0;
      other.child.kill('SIGSTOP');
      try {
        ms = await elapsedMs(async () => expect((await change('https://acme.example/after')).status).toBe(200));
        await two.withCatalog(({ keys }) => keys.revoke(two.workspaceId, key.record.id));
        expect((await writer.call('GET', '/tags', undefined, key.token)).status).toBe(401);
      } finally {
        other.child.kill('SIGCONT');
      }
      expect((await asOther()).status).toBe(401);
      expect(await seen()).toBe('https://acme.example/after');
      expect(await read()).toBe('https://acme.example/after');
      return ms;
    };
    expect(await leastOf(ANSWER_MS_MAX, writeMs, 3)).toBeLessThanOrEqual(ANSWER_MS_MAX);
  });
});

it('reads follow writes while the subscriptions of all processes are killed', async () => {
  const { seen, change, read } = await aLinkCachedByTheOther();
  for (let round = 0; round < 8; round++) {
    const to = `https://acme.example/killed-${round}`;
    await seen();
    await two.redisClient.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    expect((await change(to)).status).toBe(200);
    expect(await seen()).toBe(to);
    expect(await read()).toBe(to);
  }
});

it('reads follow writes after a restart of Redis; while it is down, links redirect, and writes fail', async () => {
  const { seen, change, read } = await aLinkCachedByTheOther();
  await two.redis?.kill9();
  const before = await seen();
  expect(before).toBe('https://acme.example/before');
  expect((await change('https://acme.example/never')).status).toBe(500);
  expect(await seen()).toBe(before);
  await two.redis?.restart();
  await waitFor(async () => (await change('https://acme.example/back')).status === 200, {
    what: 'a write after the restart',
  });
  // Until the other process is connected to Redis again, its redirects may be a second old.
  await waitFor(async () => (await seen()) === 'https://acme.example/back', {
    what: 'the redirect of a process that may be cut off from Redis',
    timeoutMs: 3_000,
  });
  await waitFor(
    async () => {
      const before = await cachedReadsOfTheOther();
      await read();
      return (await cachedReadsOfTheOther()) > before;
    },
    { what: 'the lease of the other process' },
  );
  for (let round = 0; round < 5; round++) {
    const to = `https://acme.example/again-${round}`;
    expect((await change(to)).status).toBe(200);
    expect(await seen()).toBe(to);
    expect(await read()).toBe(to);
  }
});
