import { parseResourceId } from '@waymark/contract';
import { aClick, insertClicks, startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Catalog, DomainRecord, LinkRecord } from '../../src/index.js';
import { createEventUsage, type EventUsage } from '../../src/workspaces/event-usage.js';
import { aWorkspace } from '../test-catalog.js';

const DESTINATION = 'https://acme.com';
const TTL_MS = 30_000;

let stores: TestStores;
let catalog: Catalog;
let usage: EventUsage;
let nowMs = Date.UTC(2026, 10, 21, 14, 30);

let workspaceId: string;
let domain: DomainRecord;
let root: LinkRecord;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog({ now: () => nowMs });
  usage = createEventUsage(stores.database.client, {}, () => nowMs);
});
beforeEach(async () => {
  nowMs = Date.UTC(2026, 10, 21, 14, 30);
  const made = await aWorkspace(catalog);
  const found = await catalog.links.findByAddress(made.host, '_root');
  if (made.domain === undefined || found === undefined) throw new Error('the workspace has a domain with its link');
  workspaceId = made.workspace.id;
  domain = made.domain;
  root = found;
});
afterAll(() => stores.close());

/** Stores three clicks that lead to the URL. */
function visit(url: string, link = root): Promise<void> {
  const linkId = parseResourceId('link', link.id) ?? '';
  const fields = { workspaceId: parseResourceId('workspace', workspaceId) ?? '', linkId, timestampMs: nowMs, url };
  return insertClicks(
    stores.database.client,
    [1, 2, 3].map(() => aClick(fields)),
  );
}

const setDestination = (url: string) => catalog.links.update(workspaceId, root.id, (link) => ({ ...link, url }));

/** The events of the month, counted anew. */
function used(): Promise<number> {
  nowMs += TTL_MS + 1;
  return usage.thisMonth(workspaceId);
}

it('clicks on a domain without a destination do not count, those on its links do', async () => {
  const link = await catalog.links.create(workspaceId, { domain: domain.slug, key: 'a', url: DESTINATION });
  await visit('');
  await visit(DESTINATION, link);
  expect(await used()).toBe(3);
});

it('clicks from before a domain got its destination do not count afterwards', async () => {
  await visit('');
  expect(await used()).toBe(0);
  await setDestination(DESTINATION);
  expect(await used()).toBe(0);
  await visit(DESTINATION);
  expect(await used()).toBe(3);
});

it('clicks on a domain without a destination do not count after its removal either', async () => {
  await visit('');
  await catalog.domains.remove(workspaceId, domain.id);
  expect(await catalog.links.find(workspaceId, root.id)).toBeUndefined();
  expect(await used()).toBe(0);
});

it('clicks on a domain with a destination still count after its removal', async () => {
  await setDestination(DESTINATION);
  await visit(DESTINATION);
  await catalog.domains.remove(workspaceId, domain.id);
  expect(await used()).toBe(3);
});

it('clicks on a domain still count after it has lost its destination', async () => {
  await setDestination(DESTINATION);
  await visit(DESTINATION);
  expect(await used()).toBe(3);
  await setDestination('');
  expect(await used()).toBe(3);
  await visit('');
  expect(await used()).toBe(3);
});

it('a domain that lost its destination in an earlier month counts as one that never had any', async () => {
  nowMs = Date.UTC(2026, 9, 20);
  await setDestination(DESTINATION);
  await visit(DESTINATION);
  await setDestination('');
  nowMs = Date.UTC(2026, 10, 21);
  await visit('');
  // Others, which would be missing if the placeholders were subtracted twice.
  const link = await catalog.links.create(workspaceId, { domain: domain.slug, key: 'a', url: DESTINATION });
  await visit(DESTINATION, link);
  expect(await used()).toBe(3);
});

it('all clicks of a domain count if it got its destination in an earlier month', async () => {
  nowMs = Date.UTC(2026, 9, 20);
  await visit('');
  await setDestination(DESTINATION);
  nowMs = Date.UTC(2026, 10, 21);
  await visit(DESTINATION);
  // As an erasure leaves them.
  await visit('');
  expect(await used()).toBe(6);
});
