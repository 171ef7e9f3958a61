import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { insertRows } from '@waymark/clickhouse';
import {
  type ExportJob,
  type ExportSchedule,
  parseResourceId,
  type Role,
  type Scope,
  type WebhookEvent,
  webhookEventSchema,
} from '@waymark/contract';
import { CLICK_COLUMNS, STORED_AT } from '@waymark/event-format';
import { aClick, BUCKET, type S3Server, startS3Server, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';
import { folderOf, HOUR_MS, hoursAgo, iso, readManifest, readRows } from './export-windows.js';

const ROWS_PER_FILE = 1000;
const SECRET = 'not-for-other-eyes';

let api: WholeApi;
let storage: S3Server;
let workspaceId: string;
let linkId: string;
let token: string;
const received: WebhookEvent[] = [];
const receiver = createServer(async (request, response) => {
  received.push(webhookEventSchema.parse(await json(request)));
  response.end();
});

async function send(method: string, path: string, body?: unknown, by = token) {
  const answer = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${by}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text() };
}

const destination = (more = {}) => ({
  ...{ type: 's3', endpoint: storage.url, region: 'us-east-1', bucket: BUCKET, prefix: 'events' },
  ...{ accessKeyId: 'S3RVER', secretAccessKey: SECRET, ...more },
});
const aBody = (more = {}) => ({ resource: 'events', frequency: 'hourly', destination: destination(), ...more });

async function createSchedule(more = {}): Promise<ExportSchedule> {
  const { status, text } = await send('POST', '/exports/schedules', aBody(more));
  expect([status, text]).toEqual([201, expect.any(String)]);
  return JSON.parse(text) as ExportSchedule;
}

async function scheduleOf(id: string): Promise<ExportSchedule> {
  return JSON.parse((await send('GET', `/exports/schedules/${id}`)).text) as ExportSchedule;
}

const until = (id: string, isReached: (schedule: ExportSchedule) => boolean) =>
  waitFor(
    async () => {
      const schedule = await scheduleOf(id);
      return isReached(schedule) && schedule;
    },
    { what: 'the schedule' },
  );

const numberOf = (type: 'workspace' | 'link', id: string) => parseResourceId(type, id) ?? '';
async function insertClicks(count: number, storedMs: number, happenedMs = storedMs, of = linkId): Promise<void> {
  const ids = { workspaceId: numberOf('workspace', workspaceId), linkId: numberOf('link', of) };
  const rows = Array.from({ length: count }, (_, index) => [
    ...aClick({ ...ids, timestampMs: happenedMs + Math.floor(index / 3) }),
    storedMs,
  ]);
  await insertRows(api.database.client, { table: 'click_events', columns: [...CLICK_COLUMNS, STORED_AT], rows });
}

const manifestOf = (id: string, startMs: number) => readManifest(storage, id, startMs);
const rowsOf = (id: string, startMs: number) => readRows(storage, id, startMs);

beforeAll(async () => {
  [api, storage] = await Promise.all([startWholeApi(), startS3Server()]);
  const { workspace, apiKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com' },
  });
  workspaceId = workspace.id;
  await api.catalog.workspaces.update(workspaceId, { analyticsPerSecond: 10_000, requestsPerMinute: 100_000 });
  token = apiKey.token;
  const place = { domain: 'go.acme.com', key: 'a', url: 'https://acme.com/' };
  linkId = (await api.catalog.links.create(workspaceId, place)).id;
  await insertClicks(2300, hoursAgo(3) + 1000);
  // Stored in the hour after, although it happened days before: a spool that was replayed late.
  await insertClicks(10, hoursAgo(2), hoursAgo(50));
  await insertClicks(5, hoursAgo(2) - 1, hoursAgo(50));
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const hook = { name: 'Exports', url, triggers: ['export.completed', 'export.failed'] };
  expect((await send('POST', '/webhooks', hook)).status).toBe(201);
  api.startWriter();
});
afterAll(async () => {
  await api.close();
  receiver.close();
  await storage.stop();
});

async function aKey(role: Role, scopes: readonly Scope[] = []): Promise<string> {
  return (await api.catalog.keys.create({ workspaceId, name: role, kind: 'secret', role, scopes })).token;
}

/** The deliveries about a schedule. */
const deliveriesOf = (id: string) =>
  received.flatMap(({ event, data }) => {
    const schedule = 'schedule' in data ? data.schedule : null;
    return schedule?.id === id ? [{ event, schedule }] : [];
  });

describe('a schedule', () => {
  test('exports every event in the window in which it was stored, once, in files whose manifest comes last', async () => {
    const { id } = await createSchedule({ format: 'ndjson', since: iso(hoursAgo(3)), rowsPerFile: ROWS_PER_FILE });
    const schedule = await until(id, ({ nextWindow }) => nextWindow.start >= iso(hoursAgo(1)));
    const [first, second] = [await rowsOf(id, hoursAgo(3)), await rowsOf(id, hoursAgo(2))];
    expect([first.length, second.length]).toEqual([2305, 10]);
    expect((await manifestOf(id, hoursAgo(3))).files.map(({ key, rows }) => [key, rows])).toEqual([
      [`${folderOf(id, hoursAgo(3))}/clicks-00001.ndjson`, 1000],
      [`${folderOf(id, hoursAgo(3))}/clicks-00002.ndjson`, 1000],
      [`${folderOf(id, hoursAgo(3))}/clicks-00003.ndjson`, 305],
    ]);
    // The lines of the list, each once.
    const list = await send('GET', '/events/export?format=ndjson&interval=all&sortOrder=asc');
    expect([...first, ...second].sort()).toEqual(list.text.trimEnd().split('\n').sort());
    expect(schedule).toMatchObject({ error: null, refusals: 0, disabledAt: null });
  });

  test('sends one webhook for each window', async () => {
    const { id } = await createSchedule({ since: iso(hoursAgo(3)) });
    await until(id, ({ nextWindow }) => nextWindow.start >= iso(hoursAgo(1)));
    const ofWindow = (startMs: number) =>
      deliveriesOf(id).filter(({ schedule }) => schedule.lastWindow?.window.start === iso(startMs));
    // A second delivery of the earlier window would come before that.
    await waitFor(async () => ofWindow(hoursAgo(2)).length > 0, { what: 'the delivery of the later window' });
    expect(ofWindow(hoursAgo(3)).map(({ event, schedule }) => [event, schedule.lastWindow])).toEqual([
      [
        'export.completed',
        {
          window: { start: iso(hoursAgo(3)), end: iso(hoursAgo(2)) },
          ...{ rows: 2305, files: 1, bytes: expect.any(Number), finishedAt: expect.any(String) },
          manifest: `${folderOf(id, hoursAgo(3))}/manifest.json`,
        },
      ],
    ]);
  });

  test('exports what its filters and columns select, and an empty window has a manifest without files', async () => {
    const { id: other } = await api.catalog.links.create(workspaceId, {
      ...{ domain: 'go.acme.com', key: 'b', url: 'https://acme.com/b' },
    });
    await insertClicks(7, hoursAgo(5), hoursAgo(5), other);
    await insertClicks(3, hoursAgo(5));
    const filters = { event: 'clicks', linkId: other };
    const { id } = await createSchedule({ since: iso(hoursAgo(5)), columns: ['link', 'clickId'], filters });
    await until(id, ({ nextWindow }) => nextWindow.start >= iso(hoursAgo(3)));
    const { files, ...manifest } = await manifestOf(id, hoursAgo(5));
    expect(manifest).toMatchObject({ event: 'clicks', rows: 7, filters, columns: ['link', 'clickId'] });
    const [header, ...lines] = ((await storage.get(files[0]?.key ?? '')) ?? '').trimEnd().split('\r\n');
    expect([header, lines.length]).toEqual(['link,clickId', 7]);
    for (const line of lines) expect(line).toMatch(/^https:\/\/go\.acme\.com\/b,\w{16}$/);
    expect(await manifestOf(id, hoursAgo(4))).toMatchObject({ rows: 0, bytes: 0, files: [] });
  });

  test('waits while its storage is away, shows the error, and continues when it is enabled again', async () => {
    const { id } = await createSchedule({ frequency: 'daily' });
    await storage.close();
    await api.catalog.exportSchedules.update(workspaceId, id, () => ({ exportedUntil: iso(hoursAgo(48)) }));
    const away = await until(id, ({ error }) => error !== null);
    expect(away).toMatchObject({
      error: 'The storage cannot be reached (ECONNREFUSED).',
      refusals: 0,
      disabledAt: null,
    });
    expect(Date.parse(away.retryAt ?? '')).toBeGreaterThan(Date.now());
    await storage.open();
    expect((await send('PATCH', `/exports/schedules/${id}`, { disabled: false })).status).toBe(200);
    await until(id, ({ lastWindow, error }) => lastWindow !== null && error === null);
    await send('DELETE', `/exports/schedules/${id}`);
  });

  test('is disabled after ten refusals in a row, with the reason of the storage, and a webhook is sent', async () => {
    const { id } = await createSchedule();
    await api.catalog.exportSchedules.update(workspaceId, id, ({ destination: place }) => ({
      ...{ destination: { ...place, bucket: 'no-such-bucket' }, refusals: 9, exportedUntil: iso(hoursAgo(2)) },
    }));
    const disabled = await until(id, ({ disabledAt }) => disabledAt !== null);
    expect(disabled.disabledReason).toMatch(/^The storage has refused 10 times in a row\. NoSuchBucket: /);
    await waitFor(async () => deliveriesOf(id).length > 0, { what: 'a delivery' });
    expect(deliveriesOf(id).map(({ event }) => event)).toEqual(['export.failed']);
    // Enabled with a storage that accepts it, it exports what it has missed.
    const change = { disabled: false, destination: destination() };
    expect(JSON.parse((await send('PATCH', `/exports/schedules/${id}`, change)).text)).toMatchObject({
      ...{ disabledAt: null, disabledReason: null, refusals: 0, error: null },
    });
    await until(id, ({ nextWindow }) => nextWindow.start > iso(hoursAgo(2)));
  });

  test('is disabled when its API key is revoked, with the reason', async () => {
    const { record, token: own } = await api.catalog.keys.create({
      ...{ workspaceId, name: 'own', kind: 'secret', role: 'owner', scopes: [] },
    });
    const made = await send('POST', '/exports/schedules', aBody(), own);
    const { id } = JSON.parse(made.text) as ExportSchedule;
    await api.catalog.keys.revoke(workspaceId, record.id);
    await api.catalog.exportSchedules.update(workspaceId, id, () => ({ exportedUntil: iso(hoursAgo(2)) }));
    const disabled = await until(id, ({ disabledAt }) => disabledAt !== null);
    expect(disabled.disabledReason).toBe('The API key that created this export was revoked.');
    await send('DELETE', `/exports/schedules/${id}`);
  });

  test.each([
    ['folder', 'Folder not found.', (folderId: string) => ({ folderId })],
    ['link, by its address,', 'Link not found.', () => ({ domain: 'go.acme.com', key: 'removed' })],
    ['link, by its external id,', 'Link not found.', () => ({ externalId: 'ext_removed' })],
  ])('is disabled when the %s that its filter names is removed', async (_what, message, filterOf) => {
    const { folders, links, exportSchedules } = api.catalog;
    const folder = await folders.create(workspaceId, { name: 'Removed' });
    const link = await links.create(workspaceId, {
      ...{ domain: 'go.acme.com', key: 'removed', url: 'https://acme.com/', externalId: 'removed' },
    });
    const { id } = await createSchedule({ filters: { event: 'clicks', ...filterOf(folder.id) } });
    await folders.remove(workspaceId, folder.id);
    await links.removeMany(workspaceId, [link.id]);
    await exportSchedules.update(workspaceId, id, () => ({ exportedUntil: iso(hoursAgo(2)) }));
    const { disabledReason } = await until(id, ({ disabledAt }) => disabledAt !== null);
    expect(disabledReason).toBe(message);
    await send('DELETE', `/exports/schedules/${id}`);
  });

  test('tests its storage when it is made and when its destination is changed, and otherwise not', async () => {
    const { id } = await createSchedule();
    const change = async (body: object) => (await send('PATCH', `/exports/schedules/${id}`, body)).status;
    await storage.close();
    const answers = [
      await change({ format: 'ndjson' }),
      await change({ disabled: false }),
      await change({ destination: destination() }),
    ];
    await storage.open();
    expect(answers).toEqual([200, 200, 422]);
    await send('DELETE', `/exports/schedules/${id}`);
  });

  test('begins its window again when it is changed, unless its destination may have the manifest already', async () => {
    const { id, nextWindow } = await createSchedule();
    const run = { end: nextWindow.end, files: [], lastId: null };
    const changed = async (manifest: string | null, body: object) => {
      await api.catalog.exportSchedules.update(workspaceId, id, () => ({ run: { ...run, manifest } }));
      expect((await send('PATCH', `/exports/schedules/${id}`, body)).status).toBe(200);
      return (await api.catalog.exportSchedules.require(workspaceId, id)).run;
    };
    expect(await changed(null, { format: 'ndjson' })).toBeNull();
    expect(await changed('{}', { format: 'csv' })).toEqual({ ...run, manifest: '{}' });
    expect(await changed('{}', { destination: destination() })).toEqual({ ...run, manifest: '{}' });
    expect(await changed('{}', { destination: destination({ prefix: 'elsewhere' }) })).toBeNull();
    await send('DELETE', `/exports/schedules/${id}`);
  });

  test('never shows its credentials, and stores them encrypted', async () => {
    const accessKeyId = 'S3RVER';
    const { id } = await createSchedule();
    const texts = [await send('GET', `/exports/schedules/${id}`), await send('GET', '/exports/schedules')];
    const rows = await api.database.client.rows<[string]>({ query: 'SELECT data FROM export_schedules' });
    for (const text of [...texts.map((answer) => answer.text), ...rows.flat(), JSON.stringify(received)]) {
      expect([text.includes(SECRET), text.includes(accessKeyId)]).toEqual([false, false]);
    }
    expect((await scheduleOf(id)).destination).toMatchObject({ accessKeyHint: '…', bucket: BUCKET });
    expect(rows.length).toBeGreaterThan(0);
    await send('DELETE', `/exports/schedules/${id}`);
    expect((await send('GET', `/exports/schedules/${id}`)).status).toBe(404);
  });
});

test('a job sends one webhook with its end, completed or failed', async () => {
  const made = async (body: object, by = token) =>
    JSON.parse((await send('POST', '/exports', body, by)).text) as ExportJob;
  const endsOf = ({ id }: ExportJob) =>
    received.flatMap(({ event, data }) => ('job' in data && data.job?.id === id ? [{ event, job: data.job }] : []));
  const untilDelivered = (job: ExportJob) => waitFor(async () => endsOf(job).length > 0, { what: 'the delivery' });
  const completed = await made({ resource: 'links' });
  await untilDelivered(completed);
  const slots = [api.exportSlots.take(workspaceId), api.exportSlots.take(workspaceId)];
  const { record, token: own } = await api.catalog.keys.create({
    ...{ workspaceId, name: 'own', kind: 'secret', role: 'owner', scopes: [] },
  });
  const failed = await made({ resource: 'links' }, own);
  await api.catalog.keys.revoke(workspaceId, record.id);
  for (const { free } of slots) free();
  await made({ resource: 'customers' });
  await untilDelivered(failed);
  // A second delivery would come before that of a later job.
  await untilDelivered(await made({ resource: 'customers' }));
  const { text } = await send('GET', `/exports/${completed.id}`);
  expect(endsOf(completed)).toEqual([{ event: 'export.completed', job: JSON.parse(text) }]);
  expect(endsOf(failed)).toMatchObject([{ event: 'export.failed', job: { status: 'failed', files: [] } }]);
});

test.each([
  [() => ({ filters: { interval: '7d' } }), /^unrecognized_keys: filters\.interval: /],
  [() => ({ filters: { query: "metadata['a" } }), /^invalid_\w+: filters\.query: /],
  [() => ({ columns: ['timestamp', 'nothing'] }), /^invalid_value: columns: has no column "nothing"/],
  [() => ({ resource: 'links' }), /^invalid_value: resource: /],
  [() => ({ rowsPerFile: 999 }), /^too_small: rowsPerFile: /],
  [() => ({ since: iso(Date.now() + HOUR_MS) }), /^too_big: since: must not be in the future/],
  [() => ({ since: iso(hoursAgo(1002)) }), /^too_small: since: must be at most 1000 hourly exports back/],
  [() => ({ destination: destination({ bucket: 'A/b' }) }), /^\w+: destination\.bucket: must be the name of a bucket/],
  [() => ({ destination: destination({ prefix: 'a/../b' }) }), /^\w+: destination\.prefix: must not /],
  [
    () => ({ destination: destination({ region: 'evil.example/' }) }),
    /^\w+: destination\.region: must have lower-case /,
  ],
  [
    () => ({ destination: destination({ endpoint: 'http://user:pass@127.0.0.1/' }) }),
    /destination\.endpoint: must be a URL/,
  ],
  [
    () => ({ destination: destination({ accessKeyId: 'WRONG' }) }),
    /destination: a test upload has failed: InvalidAccessKeyId: /,
  ],
  [
    () => ({ destination: destination({ bucket: 'missing' }) }),
    /destination: a test upload has failed: NoSuchBucket: /,
  ],
  [
    () => ({ destination: destination({ endpoint: 'http://10.0.0.1/' }) }),
    /failed: The storage has no public address\.$/,
  ],
  [
    () => ({ destination: destination({ endpoint: api.url }) }),
    /failed: The storage has answered with the HTTP status 404\.$/,
  ],
  [
    () => ({ destination: destination({ endpoint: 'http://127.0.0.1:1' }) }),
    /failed: The storage cannot be reached \(ECONNREFUSED\)\.$/,
  ],
])('case %# is refused when it is saved, with the field and the reason', async (change, message) => {
  const { status, text } = await send('POST', '/exports/schedules', aBody(change()));
  const { error } = JSON.parse(text) as { error: { message: string } };
  expect([status, error.message]).toEqual([422, expect.stringMatching(message)]);
  expect(text).not.toContain(SECRET);
});

describe('other callers', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await createSchedule());
  });

  test.each([
    ['viewer', []],
    ['member', []],
    ['owner', ['analytics.read']],
    ['owner', ['links.read']],
    ['owner', ['webhooks.write']],
  ] as const)(
    'a key of a(n) %s with the scopes %o may not read or write the schedule of an owner',
    async (role, scopes) => {
      const key = await aKey(role, scopes);
      expect((await send('POST', '/exports/schedules', aBody(), key)).status).toBe(403);
      for (const [method, body] of [['PATCH', { disabled: true }], ['DELETE']] as const) {
        expect((await send(method, `/exports/schedules/${id}`, body, key)).status).toBe(403);
      }
      // Its files have more than such a key may read.
      expect((await send('GET', `/exports/schedules/${id}`, undefined, key)).status).toBe(403);
    },
  );

  test('another workspace finds no schedule, a plan below business has none, and a publishable key gets nothing', async () => {
    const other = await api.catalog.workspaces.create({
      ...{ name: 'Other', slug: 'other', plan: 'enterprise', domain: 'go.other.com' },
    });
    const { token: theirs } = other.apiKey;
    for (const [method, body] of [['GET'], ['PATCH', { disabled: true }], ['DELETE']] as const) {
      expect((await send(method, `/exports/schedules/${id}`, body, theirs)).status).toBe(404);
    }
    expect((await send('GET', '/exports/schedules', undefined, theirs)).text).toBe('[]');
    await api.catalog.workspaces.update(other.workspace.id, { plan: 'pro' });
    expect((await send('GET', '/exports/schedules', undefined, theirs)).status).toBe(403);
    expect((await send('POST', '/exports/schedules', aBody(), theirs)).status).toBe(403);
    expect((await send('GET', '/exports/schedules', undefined, 'pk_live_nothing')).status).toBe(401);
    expect(await scheduleOf(id)).toMatchObject({ id, disabledAt: null });
  });

  test('a workspace has at most ten schedules', async () => {
    for (let count = (JSON.parse((await send('GET', '/exports/schedules')).text) as []).length; count < 10; count++) {
      await createSchedule();
    }
    expect((await send('POST', '/exports/schedules', aBody())).status).toBe(403);
  });
});
