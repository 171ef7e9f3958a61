import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ExportJob, type ExportStatus, parseResourceId, type Role, type Scope } from '@waymark/contract';
import { aClick, insertClicks, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

/** Room for one large file of links and not for two. */
const BYTES_MAX = 800_000;
const CLICKS = 3210;
/** Beside the root link of the domain. */
const LINKS = 1300;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}
type Send = (method: string, path: string, options?: { body?: unknown; headers?: object }) => Promise<Answer>;

let api: WholeApi;
let workspaceId: string;
let send: Send;
let ownerToken: string;
let links: { readonly id: string }[];

function sender(token: string): Send {
  return async (method, path, { body, headers = {} } = {}) => {
    const response = await fetch(path.startsWith('http') ? path : `${api.url}${path}`, {
      method,
      headers: {
        ...{ authorization: `Bearer ${token}`, 'accept-encoding': 'identity' },
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

async function aKey(role: Role, scopes: readonly Scope[] = []) {
  const { record, token } = await api.catalog.keys.create({ workspaceId, name: role, kind: 'secret', role, scopes });
  return { id: record.id, send: sender(token) };
}

const parsed = ({ text }: Answer) => JSON.parse(text) as ExportJob;
const messageOf = ({ text }: Answer) => (JSON.parse(text) as { error: { message: string } }).error.message;

async function createJob(body: object, by = send): Promise<ExportJob> {
  const answer = await by('POST', '/exports', { body });
  expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
  return parsed(answer);
}

/** Waits until the job has that status, or has failed. */
async function untilEnded({ id }: ExportJob, status: ExportStatus = 'completed'): Promise<ExportJob> {
  const job = await waitFor(
    async () => {
      const found = parsed(await send('GET', `/exports/${id}`));
      return found.status === status || found.status === 'failed' ? found : undefined;
    },
    { what: `the export to be ${status}` },
  );
  expect([job.status, job.error]).toEqual([status, status === 'failed' ? expect.any(String) : null]);
  return job;
}

/** Runs `work` while no job can run, and then all that wait. */
async function beforeJobsRun<T>(work: () => Promise<T>): Promise<T> {
  const slot = () => waitFor(async () => api.exportSlots.take(workspaceId), { what: 'a free slot' });
  const taken = [await slot(), await slot()];
  const result = await work();
  for (const { free } of taken) free();
  // A new job makes the runner look again.
  await createJob({ resource: 'customers' });
  return result;
}

/** The path of the file of a job on the server of these tests. */
const pathOf = ({ id, files: [file] }: ExportJob) => `/exports/${id}/files/${file?.name}`;

beforeAll(async () => {
  api = await startWholeApi({ exportBytesMax: BYTES_MAX });
  const { workspace, apiKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.com' },
  });
  workspaceId = workspace.id;
  await api.catalog.workspaces.update(workspaceId, { analyticsPerSecond: 10_000, requestsPerMinute: 100_000 });
  ownerToken = apiKey.token;
  send = sender(ownerToken);
  const drafts = Array.from({ length: LINKS }, (_, index) => ({
    ...{ domain: 'go.acme.com', key: `k${index}`, url: 'https://acme.com/' },
  }));
  links = [];
  for (let start = 0; start < LINKS; start += 100) {
    const body = drafts.slice(start, start + 100);
    links.push(...(JSON.parse((await send('POST', '/links/bulk', { body })).text) as { id: string }[]));
  }
  for (let index = 0; index < 5; index++) {
    await api.catalog.customers.create(workspaceId, { externalId: `user_${index}`, name: '=1+1' });
  }
  const [first] = links;
  const rows = Array.from({ length: CLICKS }, (_, index) =>
    aClick({
      workspaceId: parseResourceId('workspace', workspaceId) ?? '',
      linkId: parseResourceId('link', first?.id ?? '') ?? '',
      timestampMs: Date.now() - 60_000 - Math.floor(index / 3),
    }),
  );
  await insertClicks(api.database.client, rows);
});
afterAll(() => api.close());

describe('a job', () => {
  test.each([
    ['events', 'csv', { interval: '7d' }, ['timestamp', 'clickId', 'link']],
    ['links', 'csv', { sortOrder: 'asc', search: 'k12' }, ['id', 'link']],
    ['customers', 'ndjson', {}, undefined],
    ['customers', 'csv', {}, undefined],
  ] as const)('has the file of GET /%s/export byte for byte: %s %o', async (resource, format, filters, columns) => {
    const job = await untilEnded(await createJob({ resource, format, filters, ...(columns && { columns }) }));
    const query = new URLSearchParams({ format, ...filters, ...(columns && { columns: columns.join(',') }) });
    const [file, expected] = [await send('GET', pathOf(job)), await send('GET', `/${resource}/export?${query}`)];
    expect(file.text).toBe(expected.text);
    expect(file.headers.get('content-type')).toBe(expected.headers.get('content-type'));
    expect(file.headers.get('content-disposition')).toBe(expected.headers.get('content-disposition'));
    expect(job).toMatchObject({ bytes: Buffer.byteLength(file.text), files: [{ bytes: job.bytes }], error: null });
    const rows = file.text.trimEnd().split('\n').length - (format === 'csv' ? 1 : 0);
    expect(job.rows).toBe(rows);
    expect(job.files[0]?.url).toBe(`https://api.example.com${pathOf(job)}`);
  });

  test('can be a Parquet file', async () => {
    const job = await untilEnded(await createJob({ resource: 'links', format: 'parquet', columns: ['id'] }));
    const { text } = await send('GET', pathOf(job));
    expect([text.slice(0, 4), text.slice(-4), job.rows]).toEqual(['PAR1', 'PAR1', LINKS + 1]);
  });

  test('can be the archive of GET /analytics/export, byte for byte', async () => {
    const filters = { event: 'composite', interval: '7d', groupBy: 'countries,top_links,count' };
    const job = await untilEnded(await createJob({ resource: 'analytics', filters }));
    const bytes = async (path: string) => {
      const answer = await fetch(`${api.url}${path}`, { headers: { authorization: `Bearer ${ownerToken}` } });
      return [answer.headers.get('content-type'), Buffer.from(await answer.arrayBuffer()).toString('base64')];
    };
    expect(job.files[0]?.name).toMatch(/^analytics-[\d-]{10}\.zip$/);
    expect(await bytes(pathOf(job))).toEqual(await bytes(`/analytics/export?${new URLSearchParams(filters)}`));
    expect(job.rows).toBe(3);
  });

  test.each(['asc', 'desc'])('has what existed when it was created, and no more: %s', async (sortOrder) => {
    const body = { domain: 'go.acme.com', key: `late-${sortOrder}`, url: 'https://acme.com/' };
    const { job, late } = await beforeJobsRun(async () => ({
      job: await createJob({ resource: 'links', columns: ['id'], filters: { sortOrder } }),
      late: JSON.parse((await send('POST', '/links', { body })).text) as { id: string },
    }));
    const { text } = await send('GET', pathOf(await untilEnded(job)));
    expect([text.includes(links[0]?.id ?? ''), text.includes(late.id)]).toEqual([true, false]);
    await send('DELETE', `/links/${late.id}`);
  });
});

test('a store that does not answer is an error with Retry-After', async () => {
  const { client } = api.database;
  const { rows } = client;
  client.rows = async () => {
    throw Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
  };
  try {
    const answer = await send('POST', '/exports', { body: { resource: 'links' } });
    expect([answer.status, messageOf(answer)]).toEqual([500, expect.stringMatching(/busy, please try again\.$/)]);
    expect(answer.headers.get('retry-after')).toBe('1');
  } finally {
    client.rows = rows;
  }
});

test.each([
  [{ resource: 'events', filters: { query: "metadata['a" } }, 422, /^invalid_\w+: filters\.query: /],
  [{ resource: 'events', filters: { contry: 'US' } }, 422, /^unrecognized_keys: filters\.contry: .*"country"/],
  [{ resource: 'links', columns: ['id', 'nothing'] }, 422, /^invalid_value: columns: has no column "nothing"/],
  [{ resource: 'links', filters: { domain: 'none.example' } }, 404, /^Domain not found/],
  [{ resource: 'links', filters: { page: '2' } }, 422, /^unrecognized_keys: filters\.page: /],
  [{ resource: 'partners' }, 422, /^invalid_value: resource: /],
  [{ resource: 'events', filters: { format: 'csv' } }, 422, /^unrecognized_keys: filters\.format: /],
  [{ resource: 'links', filters: { columns: 'id' } }, 422, /^unrecognized_keys: filters\.columns: /],
  [{ resource: 'analytics', filters: { groupBy: 'planets' } }, 422, /^invalid_value: filters\.groupBy: /],
  [{ resource: 'analytics', format: 'parquet' }, 422, /^invalid_value: format: must be csv for analytics/],
  [{ resource: 'analytics', columns: ['id'] }, 422, /^invalid_value: columns: cannot be chosen for analytics/],
])('%o is refused when it is created, like by the list', async (body, status, message) => {
  const answer = await send('POST', '/exports', { body });
  expect([answer.status, messageOf(answer)]).toEqual([status, expect.stringMatching(message)]);
});

describe('a download', () => {
  test('continues with Range, and is whole if If-Range names another file', async () => {
    const job = await untilEnded(await createJob({ resource: 'links', columns: ['id'] }));
    const whole = await send('GET', pathOf(job));
    const etag = whole.headers.get('etag') ?? '';
    const ranged = (range: string, more = {}) => send('GET', pathOf(job), { headers: { range, ...more } });
    const part = await ranged('bytes=100-');
    expect([part.status, part.text]).toEqual([206, whole.text.slice(100)]);
    expect(part.headers.get('content-range')).toBe(`bytes 100-${job.bytes - 1}/${job.bytes}`);
    expect(part.headers.get('content-length')).toBe(String(job.bytes - 100));
    expect((await ranged('bytes=5-9')).text).toBe(whole.text.slice(5, 10));
    const beyond = await ranged(`bytes=${job.bytes}-`);
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${job.bytes}`]);
    expect([etag.length > 0, whole.headers.get('accept-ranges')]).toEqual([true, 'bytes']);
    expect((await ranged('bytes=5-9', { 'if-range': '"other"' })).status).toBe(200);
    expect((await ranged('bytes=5-9', { 'if-range': etag })).status).toBe(206);
    const head = await send('HEAD', pathOf(job));
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag'), head.text]).toEqual([
      ...[200, String(job.bytes), etag, ''],
    ]);
    expect((await sender('nothing')('HEAD', pathOf(job))).status).toBe(401);
  });

  test.each(['events', 'links', 'customers', 'analytics'])(
    'as a stream is made for GET only: HEAD /%s/export answers 405 to those who may read it',
    async (resource) => {
      const path = `/${resource}/export?format=ndjson`;
      const refused = await send('HEAD', path);
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET']);
      expect((await sender('nothing')('HEAD', path)).status).toBe(401);
      const stranger = await aKey('viewer', ['folders.read']);
      expect((await stranger.send('HEAD', path)).status).toBe(403);
    },
  );

  test('of another name than its own answers 404', async () => {
    const job = await untilEnded(await createJob({ resource: 'customers' }));
    for (const name of ['..%2f..%2fcheckpoint.json', 'checkpoint.json', '%2e%2e', 'part', '%00']) {
      expect([name, (await send('GET', `/exports/${job.id}/files/${name}`)).status]).toEqual([name, 404]);
    }
    expect((await send('GET', pathOf(job))).status).toBe(200);
  });
});

describe('access', () => {
  test('another workspace gets 404, a stranger and a publishable key 401', async () => {
    const job = await untilEnded(await createJob({ resource: 'customers' }));
    const other = await api.catalog.workspaces.create({
      name: 'B',
      slug: 'b',
      plan: 'enterprise',
      domain: 'b.example',
    });
    const strangers = [sender(other.apiKey.token), sender('nothing'), sender(other.publishableKey.token)];
    for (const [index, status] of [404, 401, 401].entries()) {
      const by = strangers[index] as Send;
      const answers = [by('GET', `/exports/${job.id}`), by('DELETE', `/exports/${job.id}`), by('GET', pathOf(job))];
      expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([status, status, status]);
    }
    expect(JSON.parse((await strangers[0]?.('GET', '/exports'))?.text ?? '')).toEqual([]);
  });

  test('needs the permission of the list, to create, see, download and cancel', async () => {
    const job = await untilEnded(await createJob({ resource: 'customers' }));
    const viewer = await aKey('viewer');
    const refused = await Promise.all([
      viewer.send('POST', '/exports', { body: { resource: 'customers' } }),
      viewer.send('GET', `/exports/${job.id}`),
      viewer.send('GET', pathOf(job)),
      viewer.send('DELETE', `/exports/${job.id}`),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await viewer.send('GET', '/exports')).text).not.toContain(job.id);
    expect((await send('GET', '/exports?pageSize=100')).text).toContain(job.id);
  });

  test('what a key may do is checked before the body', async () => {
    const [some, none] = [await aKey('viewer', ['links.read']), await aKey('viewer', ['folders.read'])];
    const statusOf = async (key: typeof some, path: string, body: unknown) =>
      (await key.send('POST', path, { body })).status;
    expect(await statusOf(none, '/exports', {})).toBe(403);
    expect(await statusOf(some, '/exports', {})).toBe(400);
    expect(await statusOf(some, '/exports', { resource: 'events', columns: 'no list' })).toBe(403);
    expect(await statusOf(some, '/exports', { resource: 'links', columns: 'no list' })).toBe(400);
    expect(await statusOf(some, '/exports/schedules', {})).toBe(403);
    expect((await some.send('PATCH', '/exports/schedules/x', { body: { disabled: 1 } })).status).toBe(403);
    expect((await send('POST', '/exports/schedules', { body: {} })).status).toBe(400);
  });

  test('a key that may read fewer folders may not download the file of another key', async () => {
    const member = await aKey('member');
    const [all, fewer] = [await createJob({ resource: 'links' }), await createJob({ resource: 'links' }, member.send)];
    const [allEnded, fewerEnded] = [await untilEnded(all), await untilEnded(fewer)];
    expect((await member.send('GET', pathOf(allEnded))).status).toBe(403);
    expect((await member.send('GET', pathOf(fewerEnded))).status).toBe(200);
    expect((await send('GET', pathOf(fewerEnded))).status).toBe(200);
  });

  test('a job fails when its key is revoked before it runs', async () => {
    const member = await aKey('member');
    const job = await beforeJobsRun(async () => {
      const waiting = await createJob({ resource: 'links' }, member.send);
      await api.catalog.keys.revoke(workspaceId, member.id);
      return waiting;
    });
    const failed = await untilEnded(job, 'failed');
    expect(failed.error).toBe('The API key that created this export was revoked.');
  });
});

describe('the end of a file', () => {
  const exportsDir = () => join(api.dataDir, 'exports');

  test('a completed export expires: its file is removed, and its status is "expired"', async () => {
    const job = await untilEnded(await createJob({ resource: 'customers' }));
    const days = (Date.parse(job.expiresAt ?? '') - Date.parse(job.finishedAt ?? '')) / 86_400_000;
    expect([days, existsSync(join(exportsDir(), job.id))]).toEqual([7, true]);
    expect(statSync(exportsDir()).mode & 0o077).toBe(0);
    await api.catalog.exportJobs.update(workspaceId, job.id, () => ({ expiresAt: job.createdAt }));
    expect(await untilEnded(job, 'expired')).toMatchObject({ files: [], rows: 5 });
    await waitFor(async () => !existsSync(join(exportsDir(), job.id)), { what: 'the file to be removed' });
    expect((await send('GET', pathOf(job))).status).toBe(404);
  });

  test('the oldest files are removed; an export that is too large alone fails, and leaves no file', async () => {
    const body = { resource: 'links', format: 'ndjson', filters: { search: 'k1' } };
    const first = await untilEnded(await createJob(body));
    expect(first.bytes).toBeGreaterThan(BYTES_MAX / 2);
    await untilEnded(await createJob(body));
    expect((await send('GET', pathOf(first))).status).toBe(404);
    expect(parsed(await send('GET', `/exports/${first.id}`)).status).toBe('expired');
    const huge = await untilEnded(await createJob({ resource: 'links', format: 'ndjson' }), 'failed');
    expect(huge.error).toMatch(/^The files of exports may have/);
    expect(readdirSync(exportsDir())).not.toContain(huge.id);
  });

  test('no workspace loses a file to another that uses more', async () => {
    const other = await api.catalog.workspaces.create({
      ...{ name: 'Other', slug: 'other', plan: 'enterprise', domain: 'go.other.com' },
    });
    const theirs = sender(other.apiKey.token);
    const small = await createJob({ resource: 'links', format: 'ndjson' }, theirs);
    const smallNow = async () => parsed(await theirs('GET', `/exports/${small.id}`));
    await waitFor(async () => (await smallNow()).status === 'completed', { what: 'the small export' });
    const body = { resource: 'links', format: 'ndjson', filters: { search: 'k1' } };
    const first = await untilEnded(await createJob(body));
    await untilEnded(await createJob(body));
    expect(parsed(await send('GET', `/exports/${first.id}`)).status).toBe('expired');
    await untilEnded(await createJob({ resource: 'links', format: 'ndjson' }), 'failed');
    expect((await smallNow()).status).toBe('completed');
    expect((await theirs('GET', pathOf(await smallNow()))).status).toBe(200);
  });

  test('DELETE cancels jobs that wait, removes the file of completed ones, and frees their places', async () => {
    const done = await untilEnded(await createJob({ resource: 'customers' }));
    expect(parsed(await send('DELETE', `/exports/${done.id}`)).status).toBe('expired');
    expect(existsSync(join(exportsDir(), done.id))).toBe(false);
    const jobs = await beforeJobsRun(async () => {
      const waiting: ExportJob[] = [];
      while (waiting.length < 10) waiting.push(await createJob({ resource: 'links' }));
      const refused = await send('POST', '/exports', { body: { resource: 'links' } });
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
      for (const { id } of waiting) expect(parsed(await send('DELETE', `/exports/${id}`)).status).toBe('cancelled');
      return waiting;
    });
    const next = await untilEnded(await createJob({ resource: 'customers' }));
    expect(next.status).toBe('completed');
    expect(parsed(await send('GET', `/exports/${jobs[0]?.id}`)).status).toBe('cancelled');
  });

  test('DELETE cancels the job that runs: it leaves no file, and the next job runs', async () => {
    const { client } = api.database;
    const readRows = client.lazyRows;
    let letRead = () => {};
    const gate = new Promise<void>((resolve) => {
      letRead = resolve;
    });
    let isReading = () => {};
    const reading = new Promise<void>((resolve) => {
      isReading = resolve;
    });
    client.lazyRows = async (statement) => {
      isReading();
      await gate;
      return readRows(statement);
    };
    try {
      const job = await createJob({ resource: 'events', filters: { event: 'clicks', interval: 'all' } });
      await reading;
      expect(parsed(await send('GET', `/exports/${job.id}`)).status).toBe('processing');
      expect(parsed(await send('DELETE', `/exports/${job.id}`)).status).toBe('cancelled');
      letRead();
      await untilEnded(await createJob({ resource: 'customers' }));
      const after = parsed(await send('GET', `/exports/${job.id}`));
      expect([after.status, after.files, existsSync(join(exportsDir(), job.id))]).toEqual(['cancelled', [], false]);
    } finally {
      letRead();
      client.lazyRows = readRows;
    }
  });
});
