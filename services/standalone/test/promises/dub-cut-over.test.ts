import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WorkspaceRecord } from '@waymark/catalog';
import {
  type ApiSourceOptions,
  importEvents,
  importLinks,
  openApi,
  openApiHistory,
  parseDomainMap,
} from '@waymark/import';
import { createOutbound } from '@waymark/outbound';
import { waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

/** As a browser has it since the time before the switch; the second one looks like an id of ours, of the year 2024. */
const [OLD_ID, OLD_ID_LIKE_OURS, OLD_ID_OF_BOTH] = ['zXk93mQa8vLw2RtY', 'K0000000000oWXYZ', 'zXk93mQa8vLw2Rbb'];
const CLICKED_AT = '2024-05-06T07:08:09.010Z';

/** An account at dub: one link with two clicks of it. */
function dubAnswers(path: string, query: URLSearchParams): unknown[] {
  const link = { id: 'link_1', domain: 'old.test', key: 'try', url: 'https://a.test/try', trackConversion: true };
  if (path === '/links') return query.has('startingAfter') || query.has('endingBefore') ? [] : [link];
  if (path !== '/events' || query.get('event') !== 'clicks' || query.get('page') !== '1') return [];
  return [OLD_ID, OLD_ID_LIKE_OURS, OLD_ID_OF_BOTH].map((id) => ({
    ...{ event: 'click', timestamp: CLICKED_AT, link },
    click: {
      id,
      timestamp: CLICKED_AT,
      url: link.url,
      country: 'DE',
      city: 'Berlin',
      device: 'Desktop',
      trigger: 'link',
    },
  }));
}

describe('after a switch from dub', { timeout: 120_000 }, () => {
  let api: WholeApi;
  let acme: { readonly workspace: WorkspaceRecord; readonly key: string; readonly publishable: string };
  let other: typeof acme;

  async function createWorkspace(slug: string) {
    const created = await api.catalog.workspaces.create({
      name: slug,
      slug,
      plan: 'enterprise',
      domain: `go.${slug}.test`,
    });
    const { workspace, apiKey, publishableKey } = created;
    const allowed = await api.catalog.workspaces.update(workspace.id, { allowedHostnames: ['a.test'] });
    return { workspace: { ...workspace, ...allowed }, key: apiKey.token, publishable: publishableKey.token };
  }

  async function importAccount({ workspace }: typeof acme): Promise<void> {
    const stub = createServer(({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://stub');
      response.end(JSON.stringify(dubAnswers(pathname, searchParams)));
    });
    await new Promise<void>((resolve) => stub.listen(0, '127.0.0.1', resolve));
    const outbound = createOutbound({ allowedRanges: ['127.0.0.1'] });
    const redis = new Redis(api.redisUrl);
    const source: ApiSourceOptions = {
      ...{ source: 'dub', credential: 'key', readsCounts: false, outbound, now: Date.now, wait: async () => undefined },
      address: `http://127.0.0.1:${(stub.address() as AddressInfo).port}`,
    };
    const ignore = async () => undefined;
    const report = { rejected: ignore, lost: ignore, continued: ignore, save: ignore, progress: () => undefined };
    const shared = {
      source: 'dub',
      domains: parseDomainMap([`go.${workspace.slug}.test`]),
      isDry: false,
      report,
    } as const;
    const deps = { catalog: api.catalog, defaultDomain: undefined, now: Date.now };
    const { rows, mapRecord } = await openApi(source);
    await importLinks(rows, {
      ...{ ...shared, deps, mapRecord, mapping: {}, tags: [], history: 'events', onConflict: 'skip' },
      author: { workspace, apiKey: { role: 'owner', scopes: [], userId: null } },
    });
    const silent = () => undefined;
    const logger = { debug: silent, info: silent, warn: silent, error: silent };
    const stores = { queues: [redis], clickhouse: api.database.client };
    const counts = await importEvents(openApiHistory(source), {
      ...shared,
      deps,
      stores,
      workspace,
      retentionDays: undefined,
      logger,
    });
    expect(counts).toMatchObject({ clicks: 3, rejected: 0 });
    outbound.close();
    redis.disconnect();
    stub.close();
  }

  beforeAll(async () => {
    api = await startWholeApi();
    api.startWriter();
    [acme, other] = [await createWorkspace('acme'), await createWorkspace('other')];
    await importAccount(acme);
  }, 120_000);
  afterAll(() => api.close());

  async function post(path: string, key: string, body: object, headers: Record<string, string> = {}) {
    const answer = await fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }
  async function eventsOf(event: string, key: string) {
    const answer = await fetch(`${api.url}/events?event=${event}&interval=all`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return (await answer.json()) as {
      click: { id: string };
      link: { key: string };
      customer: { externalId: string };
    }[];
  }
  const eventsWhen = async (event: string, count: number) => {
    let found: Awaited<ReturnType<typeof eventsOf>> = [];
    const isThere = async () => {
      found = await eventsOf(event, acme.key);
      return found.length >= count;
    };
    await waitFor(isThere, { what: `${count} ${event}` });
    return found;
  };
  const leadOf = (clickId: string, customerExternalId: string) => ({
    clickId,
    eventName: 'Sign up',
    customerExternalId,
  });

  it('a visitor with the old cookie who signs up is attributed, and so is what the visitor buys', async () => {
    const clicks = await eventsOf('clicks', acme.key);
    expect(clicks).toHaveLength(3);
    const lead = await post('/track/lead', acme.key, leadOf(OLD_ID, 'ada'));
    expect(lead).toMatchObject({ status: 200, body: { link: { domain: 'go.acme.test', key: 'try' } } });
    const { id: clickId } = lead.body.click as { id: string };
    expect(clicks.map(({ click }) => click.id)).toContain(clickId);
    const sale = await post('/track/sale', acme.key, { customerExternalId: 'ada', amount: 4900, invoiceId: 'in_1' });
    expect(sale).toMatchObject({ status: 200, body: { sale: { amount: 4900 } } });
    const [sold] = await eventsWhen('sales', 1);
    expect(sold).toMatchObject({ link: { key: 'try' }, click: { id: clickId, city: 'Berlin', timestamp: CLICKED_AT } });
    // The same lead once more is the same lead.
    const again = await post('/track/lead', acme.key, leadOf(OLD_ID, 'ada'));
    expect(again.body).toMatchObject({ click: { id: clickId }, link: null });
    expect(await eventsWhen('leads', 1)).toHaveLength(1);
  });

  it('an old id that has the form of ours is found as well, also by pages and by direct sales', async () => {
    const page = { origin: 'https://a.test', referer: 'https://a.test/x' };
    const client = await post('/track/lead/client', acme.publishable, leadOf(OLD_ID_LIKE_OURS, 'bob'), page);
    // The answer to a page has what the page sent.
    expect(client).toMatchObject({ status: 200, body: { click: { id: OLD_ID_LIKE_OURS }, link: { key: 'try' } } });
    const direct = { clickId: OLD_ID, customerExternalId: 'cyd', amount: 100, paymentProcessor: 'stripe' };
    expect(await post('/track/sale', acme.key, direct)).toMatchObject({ status: 200, body: { sale: { amount: 100 } } });
    const leads = await eventsWhen('leads', 3);
    expect(leads.map(({ customer, link }) => `${customer.externalId} ${link.key}`).toSorted()).toEqual([
      'ada try',
      'bob try',
      'cyd try',
    ]);
  });

  it('a deferred lead keeps the old click for the lead that follows', async () => {
    const deferred = await post('/track/lead', acme.key, { ...leadOf(OLD_ID, 'dee'), mode: 'deferred' });
    expect(deferred.status).toBe(200);
    const later = await post('/track/lead', acme.key, { eventName: 'Paid', customerExternalId: 'dee' });
    expect(later).toMatchObject({ status: 200, body: { click: deferred.body.click, link: { key: 'try' } } });
  });

  it('gives other workspaces, and those with an alias of their own, nothing', async () => {
    const refused = { status: 404, body: { error: { code: 'not_found' } } };
    expect(await post('/track/lead', other.key, leadOf(OLD_ID, 'eve'))).toMatchObject(refused);
    await api.catalog.workspaces.update(other.workspace.id, { hasClickAliases: true });
    for (const id of [OLD_ID, OLD_ID_LIKE_OURS])
      expect(await post('/track/lead', other.key, leadOf(id, 'eve'))).toMatchObject(refused);
    expect(await post('/track/lead', acme.key, leadOf('zXk93mQa8vLw2RtZ', 'eve'))).toMatchObject(refused);
  });

  it('finds for each of two workspaces with the same old id its own click', async () => {
    await importAccount(other);
    for (const { workspace, key } of [acme, other]) {
      const lead = await post('/track/lead', key, leadOf(OLD_ID_OF_BOTH, 'fay'));
      expect(lead).toMatchObject({ status: 200, body: { link: { domain: `go.${workspace.slug}.test` } } });
    }
  });
});
