import { startStores, stoppingClient, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog, LinkRecord, WebhookRecord } from '../../src/index.js';
import { aWorkspace } from '../test-catalog.js';

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const OTHER = Buffer.alloc(32, 3);
const PASSWORD = 'open sesame';

let stores: TestStores;
/** Catalogs of processes in the steps of a rotation. */
let withOld: Catalog;
let withNext: Catalog;
let withPrevious: Catalog;
let withNew: Catalog;
let workspaceId: string;
let domain: string;

beforeAll(async () => {
  stores = await startStores();
  withOld = stores.catalog({ instanceKey: OLD });
  withNext = stores.catalog({ instanceKey: OLD, otherInstanceKeys: [NEW] });
  withPrevious = stores.catalog({ instanceKey: NEW, otherInstanceKeys: [OLD] });
  withNew = stores.catalog({ instanceKey: NEW });
  ({
    workspace: { id: workspaceId },
    host: domain,
  } = await aWorkspace(withOld));
});
afterAll(() => stores.close());
beforeEach(async () => {
  await stores.database.client.command({ query: 'TRUNCATE TABLE links' });
  await stores.database.client.command({ query: 'TRUNCATE TABLE webhooks' });
  await stores.database.client.command({ query: 'TRUNCATE TABLE export_schedules' });
  await stores.client.flushall();
});

const aLink = (by: Catalog, password = PASSWORD) =>
  by.links.create(workspaceId, { domain, url: 'https://acme.com/', password });
let hooks = 0;
const aWebhook = (by: Catalog) =>
  by.webhooks.create(workspaceId, {
    name: 'Hook',
    url: `https://hooks.example/${++hooks}`,
    triggers: ['link.created'],
  });

async function linkSeenBy(catalog: Catalog, { id }: LinkRecord): Promise<LinkRecord> {
  const link = await catalog.links.get(workspaceId, id);
  if (link === undefined) throw new Error('no such link');
  return link;
}
async function secretSeenBy(catalog: Catalog, { id }: WebhookRecord): Promise<string> {
  const webhook = await catalog.webhooks.get(workspaceId, id);
  if (webhook === undefined) throw new Error('no such webhook');
  return catalog.webhooks.secretOf(webhook);
}
const CREDENTIALS = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' };
const aSchedule = (by: Catalog) =>
  by.exportSchedules.create(workspaceId, {
    ...{ resource: 'events', frequency: 'daily', format: 'csv', columns: null, filters: {}, escapeFormulas: true },
    ...{ rowsPerFile: 1000, exportedUntil: '2026-11-25T00:00:00.000Z', keyId: 'key_1', hidesFolders: false },
    hidesPasswords: false,
    destination: {
      ...{ type: 's3', endpoint: null, region: 'eu-central-1', bucket: 'warehouse', prefix: '' },
      ...{ forcePathStyle: false, accessKeyHint: '…MPLE' },
    },
    encryptedCredentials: by.exportSchedules.seal(workspaceId, CREDENTIALS),
  });
async function credentialsSeenBy(catalog: Catalog, { id }: { readonly id: string }): Promise<object> {
  return catalog.exportSchedules.credentialsOf(await catalog.exportSchedules.require(workspaceId, id));
}
async function versionOf(table: 'links' | 'webhooks', { id }: { readonly id: string }): Promise<number> {
  const rows = await stores.database.client.rows<[string]>({
    query: `SELECT max(version) FROM ${table} WHERE JSONExtractString(data, 'id') = {id:String}`,
    parameters: { id },
  });
  return Number(rows[0]?.[0]);
}

describe('processes that are restarted one by one', () => {
  it('open what each other has sealed, in every step of a rotation', async () => {
    for (const [one, other] of [
      [withOld, withNext],
      [withNext, withPrevious],
    ] as const) {
      for (const [sealing, opening] of [
        [one, other],
        [other, one],
      ] as const) {
        const [link, webhook] = [await aLink(sealing), await aWebhook(sealing)];
        const schedule = await aSchedule(sealing);
        expect(await credentialsSeenBy(opening, schedule)).toEqual(CREDENTIALS);
        expect(opening.links.passwordOf(await linkSeenBy(opening, link))).toBe(PASSWORD);
        expect(await secretSeenBy(opening, webhook)).toBe(sealing.webhooks.secretOf(webhook));
      }
    }
    await withPrevious.sealedValues.walk({ isResealing: true });
    const { counts } = await withNew.sealedValues.walk({ isResealing: false });
    expect(counts).toEqual({
      'link password': { current: 4, resealed: 0, other: 0, unknown: 0 },
      'webhook secret': { current: 4, resealed: 0, other: 0, unknown: 0 },
      'export credential': { current: 4, resealed: 0, other: 0, unknown: 0 },
    });
  });
});

describe('re-sealing', () => {
  it('writes a new version that running processes see, and changes nothing else', async () => {
    const [link, webhook, open] = [await aLink(withOld), await aWebhook(withOld), await aLink(withOld, '')];
    const secret = withOld.webhooks.secretOf(webhook);
    const schedule = await aSchedule(withOld);
    // Both processes have the records in their caches.
    for (const catalog of [withPrevious, withNew]) {
      await linkSeenBy(catalog, link);
      await catalog.webhooks.get(workspaceId, webhook.id);
    }
    const { counts, unreadable } = await withPrevious.sealedValues.walk({ isResealing: true });
    expect(counts['link password']).toEqual({ current: 1, resealed: 1, other: 0, unknown: 0 });
    expect(counts['webhook secret']).toEqual({ current: 1, resealed: 1, other: 0, unknown: 0 });
    expect(counts['export credential']).toEqual({ current: 1, resealed: 1, other: 0, unknown: 0 });
    expect(unreadable).toEqual([]);
    expect(await credentialsSeenBy(withNew, schedule)).toEqual(CREDENTIALS);

    const seen = await linkSeenBy(withNew, link);
    expect(withNew.links.passwordOf(seen)).toBe(PASSWORD);
    expect({ ...seen, encryptedPassword: link.encryptedPassword }).toEqual(link);
    expect(await secretSeenBy(withNew, webhook)).toBe(secret);
    expect(() => withOld.links.passwordOf(seen)).toThrow(/another key than INSTANCE_KEY/);
    expect(await versionOf('links', link)).toBeGreaterThan(1);
    expect(await versionOf('webhooks', webhook)).toBeGreaterThan(1);
    expect(await versionOf('links', open)).toBe(1);
  });

  it('writes nothing the second time', async () => {
    const link = await aLink(withOld);
    await withPrevious.sealedValues.walk({ isResealing: true });
    const version = await versionOf('links', link);
    const { counts } = await withPrevious.sealedValues.walk({ isResealing: true });
    expect(counts['link password']).toEqual({ current: 1, resealed: 0, other: 0, unknown: 0 });
    expect(await versionOf('links', link)).toBe(version);
  });

  it('only counts unless it is to re-seal', async () => {
    const [link] = [await aLink(withOld), await aLink(withPrevious), await aWebhook(withOld)];
    const { counts } = await withPrevious.sealedValues.walk({ isResealing: false });
    expect(counts['link password']).toEqual({ current: 1, resealed: 0, other: 1, unknown: 0 });
    expect(counts['webhook secret']).toEqual({ current: 0, resealed: 0, other: 1, unknown: 0 });
    expect(await versionOf('links', link)).toBe(1);
  });

  it('keeps a change of the password that happens at the same time', async () => {
    const link = await aLink(withOld);
    // The walk stops when it has read the link to see which key has encrypted its password.
    const statement = (text: string) => text.includes('FROM links') && !text.includes('has_value');
    const { client, stopped, go } = stoppingClient(stores.database.client, { statement, isDone: true });
    const keys = { instanceKey: NEW, otherInstanceKeys: [OLD] };
    const walk = stores.catalog({ ...keys, database: { client } }).sealedValues.walk({ isResealing: true });
    await stopped;
    await withNext.links.update(workspaceId, link.id, (record) => ({
      ...record,
      encryptedPassword: withNext.links.sealPassword('changed', link.id),
    }));
    go();
    expect((await walk).counts['link password']).toMatchObject({ resealed: 1 });
    expect(withNew.links.passwordOf(await linkSeenBy(withNew, link))).toBe('changed');
  });

  it('waits for the lock that a killed run has left on a link', async () => {
    const link = await aLink(withOld);
    // Twenty times as fast as the real clock, so that half a second of waiting counts as ten.
    const now = () => startedAt + (Date.now() - startedAt) * 20;
    const startedAt = Date.now();
    const catalog = stores.catalog({ instanceKey: NEW, otherInstanceKeys: [OLD], now });
    await stores.client.set(`waymark:lock:record/links/${link.id}`, 'a killed run', 'PX', 1_000);
    const { counts } = await catalog.sealedValues.walk({ isResealing: true });
    expect(counts['link password']).toEqual({ current: 1, resealed: 1, other: 0, unknown: 0 });
  });
});

describe('a value whose key is not there', () => {
  it('is counted and named, left as it is, and does not stop the others', async () => {
    const lost = await aLink(stores.catalog({ instanceKey: OTHER }));
    const link = await aLink(withOld);
    const { counts, unreadable } = await withPrevious.sealedValues.walk({ isResealing: true });
    expect(counts['link password']).toEqual({ current: 1, resealed: 1, other: 0, unknown: 1 });
    expect(unreadable).toEqual([lost.id]);
    expect((await linkSeenBy(withNew, lost)).encryptedPassword).toBe(lost.encryptedPassword);
    expect(withNew.links.passwordOf(await linkSeenBy(withNew, link))).toBe(PASSWORD);
  });

  it('is not opened by a value of another link or workspace, with two keys as with one', async () => {
    const [link, other] = [await aLink(withOld), await aLink(withOld)];
    const moved = { ...other, encryptedPassword: link.encryptedPassword };
    expect(() => withPrevious.links.passwordOf(moved)).toThrow(new RegExp(`secret of ${other.id}`));
    const webhook = await aWebhook(withOld);
    const { workspace } = await aWorkspace(withOld);
    expect(() => withPrevious.webhooks.secretOf({ ...webhook, workspaceId: workspace.id })).toThrow(
      `the secret of ${workspace.id} was encrypted with another key`,
    );
  });

  it('that is no sealed text at all is an error with the same words, not a crash', () => {
    const damaged = { id: 'link_1', encryptedPassword: 'v0.damaged' };
    expect(() => withPrevious.links.passwordOf(damaged)).toThrow(/secret of link_1 .* another key than INSTANCE_KEY/);
  });
});
