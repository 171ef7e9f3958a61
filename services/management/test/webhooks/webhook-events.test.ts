import { QUEUE_PREFIX, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { stoppingClient, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let caller: Caller;

beforeAll(async () => {
  management = await startManagement();
  caller = await aCaller(management);
  await management.catalog.webhooks.create(caller.workspaceId, {
    name: 'Hook',
    url: 'https://hooks.example/',
    triggers: ['link.created', 'link.updated', 'link.deleted', 'partner.enrolled'],
  });
});
beforeEach(() => management.redis.del(`${QUEUE_PREFIX}:${WEBHOOK_QUEUE}:wait`));
afterAll(() => management.close());

/** The queued webhook events, oldest first. */
async function queuedEvents(): Promise<{ event: string; id: unknown }[]> {
  const ids = await management.redis.lrange(`${QUEUE_PREFIX}:${WEBHOOK_QUEUE}:wait`, 0, -1);
  const texts = await Promise.all(
    ids.reverse().map((id) => management.redis.hget(`${QUEUE_PREFIX}:${WEBHOOK_QUEUE}:${id}`, 'data')),
  );
  return texts.map((text) => {
    const { told: events } = JSON.parse(text ?? '') as { told: { body: string }[] };
    const { event, data } = JSON.parse(events[0]?.body ?? '') as { event: string; data: { id: string } };
    return { event, id: data.id };
  });
}

const aLink = () => ({ url: 'https://acme.com/', domain: caller.host });

describe('webhooks receive events', () => {
  it('for a link that is created, updated and deleted', async () => {
    const { body: link } = await caller.post(aLink());
    await caller.call('PATCH', `/links/${link.id}`, { comments: 'changed' });
    await caller.call('PATCH', `/links/${link.id}`, { comments: 'changed' });
    await caller.call('DELETE', `/links/${link.id}`);
    expect(await queuedEvents()).toEqual(
      ['link.created', 'link.updated', 'link.deleted'].map((event) => ({ event, id: link.id })),
    );
  });

  it('for both outcomes of an upsert', async () => {
    const url = 'https://acme.com/upserted';
    await caller.call('PUT', '/links/upsert', { ...aLink(), url });
    await caller.call('PUT', '/links/upsert', { ...aLink(), url, comments: 'changed' });
    expect((await queuedEvents()).map(({ event }) => event)).toEqual(['link.created', 'link.updated']);
  });

  it('for links of partners that are created, and for both outcomes of their upsert', async () => {
    const { body: partner } = await caller.call<{ id: string }>('POST', '/partners', { email: 'zoe@example.com' });
    await management.redis.del(`${QUEUE_PREFIX}:${WEBHOOK_QUEUE}:wait`);
    const body = { partnerId: partner.id, url: 'https://acme.com/partner' };
    const made = await caller.call<{ id: string }>('POST', '/partners/links', { ...body, url: `${body.url}/made` });
    const upsert = (fields: object) =>
      caller.call<{ id: string }>('PUT', '/partners/links/upsert', { ...body, ...fields });
    const { id } = (await upsert({})).body;
    await upsert({ comments: 'changed' });
    await upsert({ comments: 'changed' });
    expect(await queuedEvents()).toEqual([
      { event: 'link.created', id: made.body.id },
      { event: 'link.created', id },
      { event: 'link.updated', id },
    ]);
  });

  it('once for a partner whose first link could not be created at first', async () => {
    const { client } = management.database;
    const insert = client.insert.bind(client);
    let mayInsertLinks = false;
    client.insert = ((params: Parameters<typeof insert>[0]) =>
      params.table === 'links' && !mayInsertLinks
        ? Promise.reject(new TypeError('refused'))
        : insert(params)) as typeof insert;
    const enrol = () => caller.call<{ id: string }>('POST', '/partners', { email: 'ada@example.com' });
    try {
      expect((await enrol()).status).toBe(500);
      mayInsertLinks = true;
      const { body } = await enrol();
      const enrolled = (await queuedEvents()).filter(({ event }) => event === 'partner.enrolled');
      expect(enrolled).toEqual([{ event: 'partner.enrolled', id: body.id }]);
    } finally {
      client.insert = insert;
    }
  });

  it.each(['enrolled', 'approved'])(
    'once for a partner that is %s again, because the process was killed before it created the first link',
    async (how) => {
      const email = `${how}@example.com`;
      const { catalog, database, server } = management;
      const name = how === 'enrolled' ? 'Cai' : 'Dan';
      const applicant =
        how === 'approved' && (await catalog.partners.create(caller.workspaceId, { name, email, status: 'pending' }));
      const [url, payload] = applicant
        ? ['/partners/applications/approve', { partnerId: applicant.id }]
        : ['/partners', { name, email }];
      const process = stoppingClient(database.client, { statement: (text) => text === 'INSERT INTO links' });
      const killed = await startManagement(Date.now, {}, { server, database: { ...database, client: process.client } });
      onTestFinished(async () => {
        process.kill();
        await killed.close();
      });
      const request = killed.app.inject({
        method: 'POST',
        url,
        payload,
        headers: { authorization: `Bearer ${caller.token}` },
      });
      const answer = request.then(({ statusCode }) => statusCode);
      await process.stopped;
      // The locks of a killed process expire.
      await management.redis.del(await management.redis.keys('waymark:lock:*'));
      const { status, body } = await caller.call<{ id?: string; partnerId?: string }>('POST', url, payload);
      const id = applicant ? body.partnerId : body.id;
      expect([status, (await queuedEvents()).map(({ event }) => event)]).toEqual([
        applicant ? 200 : 201,
        ['link.created', 'partner.enrolled'],
      ]);
      // The killed process has sent nothing so far. If it continues after all, it sends the same event.
      process.kill();
      expect(await answer).toBe(500);
      const enrolled = (await queuedEvents()).filter(({ event }) => event === 'partner.enrolled');
      expect(enrolled).toEqual([{ event: 'partner.enrolled', id }]);
    },
  );

  it('not again for a partner whose links were removed since its enrolment', async () => {
    const partner = { name: 'Eve', email: 'eve@example.com' };
    const { body } = await caller.call<{ links: { id: string }[] }>('POST', '/partners', partner);
    await caller.call('DELETE', `/links/${body.links[0]?.id}`);
    // The deliveries end, and the marks of events that are sent once expire.
    for (const kept of ['*webhooks-sent:*', `${QUEUE_PREFIX}:${WEBHOOK_QUEUE}:*`])
      await management.redis.del(await management.redis.keys(kept));
    const { database, server } = management;
    const later = await startManagement(() => Date.now() + 2 * 24 * 3_600_000, {}, { server, database });
    onTestFinished(() => later.close());
    const headers = { authorization: `Bearer ${caller.token}` };
    expect((await later.app.inject({ method: 'POST', url: '/partners', payload: partner, headers })).statusCode).toBe(
      201,
    );
    expect((await queuedEvents()).map(({ event }) => event)).toEqual(['link.created']);
  });

  it('for a new partner whose data could not be read at once', async () => {
    const { catalog } = management;
    const failing = vi.spyOn(catalog.partners, 'listTotals').mockRejectedValue(new TypeError('away'));
    const enrol = () => caller.call<{ id: string }>('POST', '/partners', { email: 'bea@example.com' });
    expect((await enrol()).status).toBe(500);
    failing.mockRestore();
    const { body } = await enrol();
    const enrolled = await waitFor(
      async () => (await queuedEvents()).find(({ event }) => event === 'partner.enrolled'),
      { what: 'the event' },
    );
    expect(enrolled.id).toBe(body.id);
  });

  it('for a link that was stored, although its folder could not be read again', async () => {
    const { folders } = management.catalog;
    const { body: folder } = await caller.call<{ id: string }>('POST', '/folders', { name: 'Launch' });
    const read = folders.getMany;
    /** The rules read the folder before the link is stored. */
    const failAfter = (reads: number) =>
      vi.spyOn(folders, 'getMany').mockImplementation(async (...names) => {
        if (reads-- > 0) return read(...names);
        throw new TypeError('away');
      });
    let failing = failAfter(1);
    expect((await caller.post({ ...aLink(), key: 'kept', folderId: folder.id })).status).toBe(500);
    failing.mockRestore();
    const { body: link } = await caller.get(`/links/info?domain=${caller.host}&key=kept`);
    expect(await queuedEvents()).toEqual([{ event: 'link.created', id: link.id }]);
    failing = failAfter(1);
    expect((await caller.call('PATCH', `/links/${link.id}`, { comments: 'changed' })).status).toBe(500);
    failing.mockRestore();
    expect((await caller.call('PATCH', `/links/${link.id}`, { comments: 'changed' })).status).toBe(200);
    expect((await queuedEvents()).map(({ event }) => event)).toEqual(['link.created', 'link.updated']);
  });

  it('but not for bulk requests, nor for rejected ones', async () => {
    const { body: links } = await caller.call<{ id: string }[]>('POST', '/links/bulk', [aLink(), aLink()]);
    const linkIds = links.map(({ id }) => id);
    expect((await caller.call('PATCH', '/links/bulk', { linkIds, data: { title: 'x' } })).status).toBe(200);
    const deleted = await caller.call('DELETE', `/links/bulk?linkIds=${linkIds.join(',')}`);
    expect(deleted.body).toEqual({ deletedCount: 2 });
    await caller.post({ ...aLink(), domain: 'of-another.example' });
    expect(await queuedEvents()).toEqual([]);
  });
});
