import type { Catalog } from '@waymark/catalog';
import type { UpdateWebhookBody } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { updateWebhook } from '../../src/webhooks/webhooks.js';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let next = 0;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

/** The catalog of a process that stops when it has changed the record of a webhook. */
function stopping(catalog: Catalog) {
  let arrive = () => {};
  const stopped = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let go = () => {};
  const released = new Promise<void>((resolve) => {
    go = resolve;
  });
  const update: Catalog['webhooks']['update'] = async (...request) => {
    const changed = await catalog.webhooks.update(...request);
    arrive();
    await released;
    return changed;
  };
  return { catalog: { ...catalog, webhooks: { ...catalog.webhooks, update } }, stopped, go: () => go() };
}

describe('of two changes of a webhook at the same time, the later one decides about its scope and its links', () => {
  it.each<[Pick<UpdateWebhookBody, 'linkScope'>, Pick<UpdateWebhookBody, 'linkScope'>]>([
    [{ linkScope: 'workspace' }, { linkScope: 'links' }],
    [{ linkScope: 'links' }, { linkScope: 'folders' }],
  ])('%j, then %j', async (first, second) => {
    const { catalog } = management;
    const aLink = async () =>
      (await catalog.links.create(acme.workspaceId, { domain: acme.host, url: 'https://acme.com' })).id;
    const [before, named] = [await aLink(), await aLink()];
    const { id } = await catalog.webhooks.create(acme.workspaceId, {
      ...{ name: 'Hook', url: `https://hooks.acme.com/${next++}`, triggers: ['link.clicked'], linkScope: 'links' },
    });
    await updateWebhook(catalog, acme.workspaceId, id, { linkIds: [before] }, Date.now());
    const change = (by: Catalog, body: Pick<UpdateWebhookBody, 'linkScope'>) =>
      updateWebhook(
        by,
        acme.workspaceId,
        id,
        { ...body, ...(body.linkScope === 'links' ? { linkIds: [named] } : {}) },
        Date.now(),
      );
    const process = stopping(management.anotherCatalog());
    const changing = change(process.catalog, first);
    await process.stopped;
    const later = change(catalog, second);
    const isHeld = async () => (await management.redis.exists(`waymark:lock:webhook-links/${id}`)) > 0;
    await Promise.race([later, waitFor(isHeld, { what: 'the lock of the links of the webhook' })]);
    process.go();
    await Promise.all([changing, later]);
    const fresh = management.anotherCatalog();
    const attached = [...(await fresh.links.getMany(acme.workspaceId, [before, named])).values()]
      .filter(({ webhookIds }) => webhookIds.includes(id))
      .map((link) => link.id);
    const scope = (await fresh.webhooks.get(acme.workspaceId, id))?.linkScope;
    expect([scope, attached]).toEqual([second.linkScope, second.linkScope === 'links' ? [named] : []]);
  });
});
