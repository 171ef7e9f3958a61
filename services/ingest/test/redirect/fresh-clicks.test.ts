import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { createEventId } from '@waymark/contract';
import type { EventProducer } from '@waymark/event-queue';
import { createLogger } from '@waymark/http-kit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createFreshClicks } from '../../src/fresh-clicks.js';
import { buildLinkApp, type IngestDeps } from '../../src/index.js';
import { BROWSER, DOMAIN, NO_FRESH_CLICKS, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
let away: ClickHouseClient;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
  away = createClickHouseClient({ url: 'http://127.0.0.1:9', database: 'none' });
});
afterAll(async () => {
  await away.close();
  await ingest.stop();
});

let customers = 0;
const someone = () => {
  customers += 1;
  return `fresh-${customers}`;
};
const lead = (clickId: string, overrides: Partial<IngestDeps> = {}, fields: object = {}) =>
  ingest.postTo(overrides, '/track/lead', { clickId, eventName: 'Sign up', customerExternalId: someone(), ...fields });
/** Click and lead look-ups fail; customers are still found through the catalog. */
const withoutClickHouse = () => ({ clickhouse: away });

let visitors = 0;
async function report(what: 'click' | 'open' | 'visit', body: object): Promise<string> {
  visitors += 1;
  const answer = await ingest.trackApp.inject({
    method: 'POST',
    url: `/track/${what}`,
    headers: { 'user-agent': BROWSER, 'x-forwarded-for': `198.51.102.${visitors}` },
    payload: body,
  });
  return answer.json<{ clickId: string }>().clickId;
}

/** The app of the link port with another producer. */
function linkAppWith(recordClick: EventProducer['recordClick']) {
  const options = { logger: createLogger({ name: 'test', level: 'silent' }), docBase: 'http://x', trustedProxies: [] };
  return buildLinkApp(options, { ...ingest.deps, producers: [{ ...ingest.producer, recordClick }] });
}

describe('a lead right after its click', () => {
  it.each([
    ['a link that tracks conversions', async () => ingest.click(await ingest.link({ trackConversion: true }))],
    ['a partner’s link', async () => ingest.click(await ingest.link({ programId: 'prog_1', partnerId: 'pn_1' }))],
    ['a script’s click', async () => report('click', { domain: DOMAIN, key: (await ingest.link()).key })],
    [
      'a page view',
      async () => report('visit', { domain: DOMAIN, url: `https://${DOMAIN}/${(await ingest.link()).key}` }),
    ],
    ['a deep link', async () => report('open', { deepLink: `https://${DOMAIN}/${(await ingest.link()).key}` })],
  ])('finds the click of %s without writer and ClickHouse', async (_what, click) => {
    await ingest.stopWriter();
    try {
      const clickId = await click();
      expect((await lead(clickId, withoutClickHouse())).json()).toMatchObject({ click: { id: clickId } });
    } finally {
      ingest.startWriter();
    }
  });

  it('a direct sale, and a sale after them, find the click too', async () => {
    await ingest.stopWriter();
    try {
      const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
      const customerExternalId = someone();
      const body = { clickId, customerExternalId, amount: 100 };
      const direct = await ingest.postTo(withoutClickHouse(), '/track/sale', body);
      expect(direct.json()).toMatchObject({ sale: { amount: 100 } });
      const next = await ingest.post('/track/sale', { customerExternalId, amount: 200 });
      expect(next.json()).toMatchObject({ sale: { amount: 200 } });
    } finally {
      ingest.startWriter();
    }
  });

  it.each([
    ['DE', 'Köln "am Rhein"\\', ''],
    ['US', 'San Antonio', '198.51.103.2'],
  ])(
    'from %s is the same lead as one whose click was found in ClickHouse, to the letter',
    async (country, city, ip) => {
      const link = await ingest.link({ trackConversion: true, url: 'https://acme.com/é?utm_source=a%20b&q="1"' });
      const visited = await ingest.visit(`/${link.key}?qr=1&x=%F0%9F%98%80`, {
        'user-agent': `${BROWSER} "quoted" \\ \u00ff`,
        'x-forwarded-for': '198.51.103.2',
        'cf-ipcountry': country,
        'cf-region-code': 'NW',
        'cf-ipcity': encodeURIComponent(city),
        referer: 'https://www.news.example/päge?session=1',
      });
      const clickId = new URL(String(visited.headers.location)).searchParams.get('dub_id') ?? '';
      expect((await lead(clickId, withoutClickHouse(), { eventName: 'fresh' })).statusCode).toBe(200);
      await ingest.rowsWhen(1, 'click_events', 'click_id = {click:String}', { click: clickId });
      expect((await lead(clickId, { freshClicks: NO_FRESH_CLICKS }, { eventName: 'read' })).statusCode).toBe(200);
      const rows = await ingest.rowsWhen(2, 'lead_events', 'click_id = {click:String}', { click: clickId });
      const ofClick = rows.map(({ event_id, event_name, timestamp, stored_at, customer_id, ...rest }) => rest);
      expect(ofClick[0]).toEqual(ofClick[1]);
      expect(ofClick[0]).toMatchObject({ country, city, ip, trigger: 'qr' });
    },
  );
});

describe('clicks in memory', () => {
  it('are found once they are acknowledged, and not before', async () => {
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let clickId = '';
    const app = linkAppWith(async (click) => {
      clickId = click.clickId;
      await held;
      return ingest.producer.recordClick(click);
    });
    const { key } = await ingest.link({ trackConversion: true });
    const visiting = app.inject({ url: `/${key}`, headers: { host: DOMAIN, 'user-agent': BROWSER } });
    await expect.poll(() => clickId).not.toBe('');
    expect((await lead(clickId)).statusCode).toBe(404);
    letGo();
    expect((await visiting).headers.location).toContain(`dub_id=${clickId}`);
    expect((await lead(clickId, withoutClickHouse())).statusCode).toBe(200);
    await app.close();
  });

  it('do not include those that neither Redis nor the disk accepted', async () => {
    let clickId = '';
    const app = linkAppWith(async (click) => {
      clickId = click.clickId;
      throw new Error('no room');
    });
    const { key } = await ingest.link({ trackConversion: true });
    const visited = await app.inject({ url: `/${key}`, headers: { host: DOMAIN, 'user-agent': BROWSER } });
    expect(visited.statusCode).toBe(302);
    // The producer repeats them: once it is stored, the visitor has its id.
    expect(visited.headers.location).toContain(`dub_id=${clickId}`);
    expect((await lead(clickId)).statusCode).toBe(404);
    await app.close();
  });

  it('are found only by their own workspace', async () => {
    const other = await ingest.catalog.workspaces.create({ name: 'Other', slug: 'other', plan: 'enterprise' });
    const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
    const answer = await ingest.post(
      '/track/lead',
      { clickId, eventName: 'a', customerExternalId: someone() },
      { authorization: `Bearer ${other.apiKey.token}` },
    );
    expect(answer.statusCode).toBe(404);
  });

  it('include only those whose id was returned to a client, each once', async () => {
    const add = vi.spyOn(ingest.deps.freshClicks, 'add');
    const me = { 'x-forwarded-for': '198.51.104.1' };
    const plain = await ingest.link();
    const tracked = await ingest.link({ trackConversion: true });
    for (const { key } of [plain, tracked, plain, tracked]) await ingest.visit(`/${key}`, me);
    await ingest.visit(`/${tracked.key}`, { 'user-agent': 'curl/8' });
    expect(add).toHaveBeenCalledTimes(1);
    add.mockRestore();
  });

  it('expire after some minutes, and are evicted oldest first', () => {
    let nowMs = Date.now();
    const clicks = createFreshClicks(() => nowMs);
    const ids = Array.from({ length: 20_001 }, () => createEventId(nowMs));
    for (const id of ids) clicks.add(id, `["7",${nowMs},"${id}"]`);
    const last = ids.at(-1) ?? '';
    expect(clicks.find('7', ids[0] ?? '')).toBeUndefined();
    expect(clicks.find('7', ids[10_001] ?? '')).toBeDefined();
    expect(clicks.find('7', last)).toEqual(['7', nowMs, last]);
    expect(clicks.find('8', last)).toBeUndefined();
    nowMs += 5 * 60_000;
    expect(clicks.find('7', last)).toBeDefined();
    nowMs += 1;
    expect(clicks.find('7', last)).toBeUndefined();
  });
});
