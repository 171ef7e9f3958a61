import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { UnknownOutcomeError } from '@waymark/clickhouse';
import { ApiError, type ImportJob } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { importCaller } from '../../src/imports/import-access.js';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from '../test-management.js';
import { importsOf, KEY, startKutt, startSource } from './test-imports.js';

const FILE_BYTES_MAX = 2 * 1024 ** 2;

describe('imports', () => {
  let management: TestManagement;
  let refused: Caller;
  beforeAll(async () => {
    management = await startManagement(Date.now, {
      importFileBytesMax: FILE_BYTES_MAX,
      importBytesMax: 2.5 * FILE_BYTES_MAX,
    });
    mkdirSync(root());
    await management.app.listen({ host: '127.0.0.1', port: 0 });
    refused = await aCaller(management);
  });
  afterAll(() => management.close());

  const callsOf = ({ token }: Caller) => importsOf(management, token);
  const root = () => join(management.dataDir, 'imports');
  const directories = () => readdirSync(root()).sort();
  const filesBelow = () => readdirSync(root(), { recursive: true, encoding: 'utf8' });

  it('from an API wait as long as it requires, and their credential is sealed until they are cancelled', async () => {
    const acme = await aCaller(management);
    const { post, send } = callsOf(acme);
    const { state, body } = await startKutt();
    const { status, body: job, text } = await post(body);
    expect([status, job]).toMatchObject([202, { source: 'kutt', format: null, bytes: null, address: body.address }]);
    await waitFor(async () => state.requests.length >= 2, { what: 'the request for the second page' });
    const before = new Set(directories());
    const credentials = filesBelow().filter((path) => path.endsWith('credential'));
    expect(credentials).toHaveLength(1);
    const path = join(root(), credentials[0] ?? '');
    expect(readFileSync(path, 'utf8')).not.toContain(KEY);
    expect([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700]);
    const cancelled = await send('DELETE', `/imports/${job.id}`);
    expect(cancelled.body).toMatchObject({ status: 'cancelled', finishedAt: expect.any(String) });
    expect(directories()).toHaveLength(before.size - 1);
    const record = await management.catalog.importJobs.get(acme.workspaceId, job.id);
    expect(JSON.stringify([text, cancelled.text, record])).not.toContain(KEY);
    expect(state.requests.length).toBe(2);
  });

  it('from an API end with all its links, and nothing of the credential is left', async () => {
    const { post, ended } = callsOf(await aCaller(management));
    const { state, body } = await startKutt();
    state.isBusy = false;
    const { body: job } = await post(body);
    expect(await ended(job.id)).toMatchObject({ status: 'completed', created: 2, bytesRead: null });
    const wrong = await post({ ...body, credentials: { apiKey: 'another-key' } });
    const failed = await ended(wrong.body.id);
    expect([failed.status, failed.error]).toEqual(['failed', expect.stringContaining('refuses the credentials (401)')]);
    expect(JSON.stringify(failed)).not.toContain('another-key');
    const isGone = async () => !filesBelow().some((path) => path.endsWith('credential') || path.endsWith('source'));
    await waitFor(isGone, { what: 'the credentials to be removed' });
    expect(await ended((await post(body)).body.id)).toMatchObject({ created: 0, skipped: 2 });
  });

  it('whose files are not here, as after a restore, fail, and the next one of the workspace runs', async () => {
    const { post, upload, send, ended } = callsOf(await aCaller(management));
    const { state, body } = await startKutt();
    const { body: running } = await post(body);
    await waitFor(async () => state.requests.length >= 2, { what: 'the request for the second page' });
    const before = new Set(directories());
    const { body: lost } = await upload('url,key\nhttps://a.test,a\n');
    const added = directories().filter((name) => !before.has(name));
    expect(added).toHaveLength(1);
    for (const name of added) rmSync(join(root(), name), { recursive: true });
    const { body: next } = await upload('url,key\nhttps://a.test,a\n');
    await send('DELETE', `/imports/${running.id}`);
    const error = 'The files of this import are not on this server.';
    expect(await ended(lost.id)).toMatchObject({ status: 'failed', error, created: 0 });
    expect(await ended(next.id)).toMatchObject({ status: 'completed', created: 1 });
  });

  it('end their work with the process, also while a source does not answer for its folders', async () => {
    const stopping = await startManagement(Date.now);
    await stopping.app.listen({ host: '127.0.0.1', port: 0 });
    const { post } = importsOf(stopping, (await aCaller(stopping)).token);
    const silent = createServer();
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const requested = once(silent, 'request');
    const { port } = silent.address() as AddressInfo;
    await post({ source: 'dub', address: `http://127.0.0.1:${port}`, credentials: { apiKey: KEY } });
    await requested;
    // Well before the minute after which a request to a source is given up.
    await stopping.close();
  }, 30_000);

  it('keep the file of an import whose record may be stored although the request fails; for five minutes if it is not', async () => {
    let nowMs = Date.now();
    const own = await startManagement(() => nowMs);
    onTestFinished(() => own.close());
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    const { upload, run } = importsOf(own, (await aCaller(own)).token);
    const sources = () =>
      readdirSync(join(own.dataDir, 'imports'), { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.endsWith('source'),
      );
    const { importJobs } = own.catalog;
    const { create } = importJobs;
    const failWith = async (err: Error) => {
      importJobs.create = () => Promise.reject(err);
      expect((await upload('url,key\nhttps://a.test,late\n')).status).toBe(500);
      importJobs.create = create;
    };
    // The answer of ClickHouse was lost; or Redis was away when the row was stored.
    await failWith(new UnknownOutcomeError(new Error('socket hang up')));
    await failWith(new ApiError('internal_server_error', 'The service is busy, please try again.'));
    expect(sources()).toHaveLength(2);
    await run('url,key\nhttps://a.test,a\n');
    await waitFor(() => sources().length === 2, { what: 'the file of the import that has ended to be removed' });
    nowMs += 6 * 60_000;
    // Its end is when left files are looked for, not only once a minute.
    await run('url,key\nhttps://a.test,b\n');
    await waitFor(() => sources().length === 0, { what: 'the files to be removed', timeoutMs: 20_000 });
  });

  it('never read local files or private addresses', async () => {
    const { post, ended } = callsOf(await aCaller(management));
    const credentials = { apiKey: KEY };
    for (const address of [
      'file:///etc/passwd',
      '/etc/passwd',
      'links.csv',
      'ftp://a.test',
      'https://user:secret@a.test',
    ]) {
      const { status, body } = await post({ source: 'kutt', address, credentials });
      expect([address, status, body.error.message]).toEqual([address, 422, expect.stringContaining('address')]);
    }
    // 127.0.0.1 alone is allowed here.
    for (const address of ['http://127.0.0.2:9', 'http://169.254.169.254', 'http://[::1]:9', 'http://10.0.0.1']) {
      const { id } = (await post({ source: 'kutt', address, credentials })).body;
      const failed = await ended(id);
      expect([failed.status, failed.error]).toEqual([
        'failed',
        expect.stringContaining('the host has no public address'),
      ]);
    }
    const redirect = await startSource(() => [302, { location: 'http://169.254.169.254/' }, {}]);
    onTestFinished(redirect.close);
    const { id } = (await post({ source: 'kutt', address: redirect.address, credentials })).body;
    expect((await ended(id)).error).toContain('redirects to http://169.254.169.254/');
  });

  it('end when their key is revoked, and a workspace has at most five that have not ended', async () => {
    const acme = await aCaller(management);
    const { post, send, ended, upload } = callsOf(acme);
    const { state, body } = await startKutt();
    const key = await management.catalog.keys.create({
      ...{ workspaceId: acme.workspaceId, name: 'import', kind: 'secret', role: 'owner', scopes: [] },
    });
    const jobs: ImportJob[] = [(await importsOf(management, key.token).post(body)).body];
    for (let index = 0; index < 4; index++) jobs.push((await post(body)).body);
    const refused = await post(body);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect((await upload('url\nhttps://a.test\n')).status).toBe(429);
    await waitFor(async () => state.requests.length >= 2, { what: 'the first import to wait' });
    // The others of the workspace wait for it.
    expect(state.firstPages).toBe(1);
    await management.catalog.keys.revoke(acme.workspaceId, key.record.id);
    const [first] = jobs;
    expect(await ended(first?.id ?? '')).toMatchObject({
      ...{ status: 'failed', error: 'The API key that created this import was revoked.' },
    });
    for (const { id } of jobs.slice(1)) expect((await send('DELETE', `/imports/${id}`)).body.status).toBe('cancelled');
    expect(await ended((await upload('url,key\nhttps://a.test,a\n')).body.id)).toMatchObject({ created: 1 });
  });

  it('end when their key has expired', async () => {
    const { keys } = management.catalog;
    const { workspaceId } = await aCaller(management);
    const expiresAt = '2100-01-01T00:00:00.000Z';
    const { record } = await keys.create({
      ...{ workspaceId, name: 'import', kind: 'secret', role: 'owner', scopes: [], expiresAt },
    });
    const callerAt = (nowMs: number) => importCaller(management.catalog, { workspaceId, keyId: record.id }, nowMs);
    expect((await callerAt(Date.parse(expiresAt) - 1)).apiKey.id).toBe(record.id);
    await expect(callerAt(Date.parse(expiresAt))).rejects.toThrow('The API key that created this import has expired.');
  });

  it('end when their key may no longer create links', async () => {
    const { keys } = management.catalog;
    const { workspaceId } = await aCaller(management);
    const callerWith = async (scope: 'links.write' | 'links.read') => {
      const key = { workspaceId, name: 'import', kind: 'secret', role: 'owner', scopes: [scope] } as const;
      const { record } = await keys.create(key);
      return importCaller(management.catalog, { workspaceId, keyId: record.id }, Date.now());
    };
    expect((await callerWith('links.write')).workspace.id).toBe(workspaceId);
    await expect(callerWith('links.read')).rejects.toMatchObject({ code: 'forbidden' });
  });

  const boundary = '--b';
  const part = (head: string, text: string) =>
    `${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const source = part('name="source"', 'csv');
  const file = part('name="file"; filename="x.csv"', 'url\nhttps://a.test');
  const FORM = 'multipart/form-data; boundary=b';
  it.each([
    ['an empty form', FORM, '', 400, 'file: is missing'],
    ['no boundary', 'multipart/form-data', `${source}${file}${boundary}--`, 400, 'not valid multipart'],
    ['an end in the middle of the file', FORM, `${source}${file.slice(0, -12)}`, 400, 'not valid multipart'],
    ['bytes that are no form', FORM, '\0\u00ff'.repeat(5000), 400, 'not valid multipart'],
    ['two files', FORM, `${source}${file}${file}${boundary}--`, 400, 'has one file'],
    ['a file of another name', FORM, `${source}${file.replace('"file"', '"data"')}${boundary}--`, 422, 'file: must be'],
    ['an empty file', FORM, `${source}${part('name="file"; filename="x"', '')}${boundary}--`, 400, 'The file is empty'],
    ['no source', FORM, `${file}${boundary}--`, 400, 'source: '],
    ['an unknown source', FORM, `${part('name="source"', 'x')}${file}${boundary}--`, 422, 'source: '],
    ['an unknown field', FORM, `${source}${part('name="x"', '1')}${file}${boundary}--`, 422, 'x'],
    [
      'a field of an object',
      FORM,
      `${source}${part('name="__proto__"', '1')}${file}${boundary}--`,
      400,
      'form is not valid',
    ],
    [
      'a field of JSON',
      FORM,
      `${source}${part('name="dryRun"\r\nContent-Type: application/json', 'true')}${file}${boundary}--`,
      422,
      'dryRun: must be a text, not JSON',
    ],
    ['a field given twice', FORM, `${source}${source}${file}${boundary}--`, 422, 'source: must be given once'],
    [
      'a long field',
      FORM,
      `${source}${part('name="tags"', 'x'.repeat(9000))}${file}${boundary}--`,
      422,
      'tags: must have at most',
    ],
    [
      'two thousand fields',
      FORM,
      `${source}${part('name="tags"', '').repeat(2000)}${file}${boundary}--`,
      400,
      'more than 1100',
    ],
    [
      'an invalid zone',
      FORM,
      `${source}${part('name="timezone"', 'Mars')}${file}${boundary}--`,
      422,
      'timezone: must be',
    ],
    [
      'YOURLS without a zone',
      FORM,
      `${source.replace('csv', 'yourls')}${file}${boundary}--`,
      422,
      'timezone: is required',
    ],
    ['a bad domain map', FORM, `${source}${part('name="domains"', 'a=b=c')}${file}${boundary}--`, 422, 'old=new'],
    ['a bare file', 'text/csv', 'url\nhttps://a.test\n', 400, 'must be multipart/form-data'],
    ['a bare file without a type', undefined, 'url\nhttps://a.test\n', 400, 'must be multipart/form-data'],
    ['JSON without a type', undefined, '{"source":"bitly"}', 400, 'must be multipart/form-data'],
    ['another form', 'application/x-www-form-urlencoded', 'source=csv', 400, 'must be multipart/form-data'],
    ['no body', 'application/json', '', 400, 'body: is required'],
    ['JSON without a credential', 'application/json', '{"source":"bitly"}', 400, 'credentials: '],
    ['JSON for a file', 'application/json', `{"source":"csv","credentials":{"apiKey":"x"}}`, 422, 'has no API'],
    [
      'no address',
      'application/json',
      `{"source":"shlink","credentials":{"apiKey":"x"}}`,
      422,
      'no address of its own',
    ],
    [
      'a key of lines',
      'application/json',
      `{"source":"bitly","credentials":{"apiKey":"x\\r\\ny: z"}}`,
      422,
      'printable',
    ],
  ])('refuse %s, and keep nothing of it', async (_what, type, body, status, message) => {
    const { send } = callsOf(refused);
    const before = directories();
    // Bytes, because `fetch` adds a type to a text.
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    const answer = await send('POST', '/imports', { body: new TextEncoder().encode(body), headers });
    expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringContaining(message)]);
    expect(directories()).toEqual(before);
    expect((await send('GET', '/imports')).body).toEqual([]);
  });

  it('refuse a file that is larger than the limit, which they name, whether its size is declared or not', async () => {
    const acme = await aCaller(management);
    const { upload } = callsOf(acme);
    const before = directories();
    const large = 'url\n'.padEnd(FILE_BYTES_MAX + 100_000, 'x');
    const answer = await upload(large);
    expect([answer.status, answer.body.error.message]).toEqual([400, 'The file of an import may have at most 2 MB.']);
    const { port } = management.app.server.address() as AddressInfo;
    const sent = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { authorization: `Bearer ${acme.token}`, 'content-type': FORM, 'content-length': 10 ** 12 };
      const outgoing = httpRequest(
        { port, host: '127.0.0.1', method: 'POST', path: '/imports', headers },
        (response) => {
          resolve(response.statusCode);
          outgoing.destroy();
        },
      );
      outgoing.on('error', reject);
      outgoing.flushHeaders();
    });
    expect(sent).toBe(400);
    expect(directories()).toEqual(before);
  });

  it('keep nothing of a file whose upload is aborted', async () => {
    const acme = await aCaller(management);
    const before = directories();
    const { port } = management.app.server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${acme.token}`, 'content-type': FORM };
    const outgoing = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/imports', headers });
    outgoing.on('error', () => undefined);
    outgoing.write(
      `${source}${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n${'x'.repeat(200_000)}`,
    );
    await waitFor(async () => directories().length > before.length, { what: 'the begin of the file' });
    outgoing.destroy();
    await waitFor(async () => directories().length === before.length, { what: 'the file to be removed' });
  });

  it('remove the files of an upload that was interrupted by the end of its process, two hours later', async () => {
    const [old, recent] = ['interrupted', 'under-way'].map((name) => join(root(), name)) as [string, string];
    onTestFinished(() => rmSync(recent, { recursive: true, force: true }));
    for (const [path, hours] of [[old, 2.1] as const, [recent, 1.5] as const]) {
      mkdirSync(path);
      const changedAt = new Date(Date.now() - hours * 3_600_000);
      utimesSync(path, changedAt, changedAt);
    }
    const { run } = callsOf(await aCaller(management));
    await run('url,key\nhttps://a.test,a\n');
    await waitFor(() => !existsSync(old), { what: 'the directory to be removed', timeoutMs: 20_000 });
    expect(existsSync(recent)).toBe(true);
  });

  it('remove the oldest reports when files need their room', async () => {
    const { run, send, post, ended } = callsOf(await aCaller(management));
    const table = `url,key\n${`no url ${'x'.repeat(9000)},k\n`.repeat(200)}`;
    const jobs = [await run(table), await run(table), await run(table)];
    const filesOf = async ({ id }: ImportJob) => (await send('GET', `/imports/${id}`)).body.files.length;
    expect(await Promise.all(jobs.map(filesOf))).toEqual([0, 1, 1]);
    expect((await send('GET', `/imports/${jobs[0]?.id}/rejected.csv`)).status).toBe(404);
    // An import from an API has no file, but reports.
    const wrong = Array.from({ length: 200 }, () => ({ address: 'k', target: `no url ${'x'.repeat(9000)}` }));
    const source = await startSource(({ url }) => [200, {}, { data: url?.includes('skip=0') ? wrong : [] }]);
    onTestFinished(source.close);
    const body = { source: 'kutt', address: source.address, credentials: { apiKey: KEY } };
    for (let times = 0; times < 2; times++) jobs.push(await ended((await post(body)).body.id));
    expect(await Promise.all(jobs.map(filesOf))).toEqual([0, 0, 1, 1, 1]);
  });

  it('are made by members too, who change no link of a folder that is hidden from them', async () => {
    const acme = await aCaller(management);
    const { catalog } = management;
    const hidden = { name: 'Hidden', description: null, accessLevel: null };
    const folder = await catalog.folders.create(acme.workspaceId, hidden, 10);
    const inFolder = { url: 'https://secret.test/', key: 'h', domain: acme.host, folderId: folder.id };
    expect((await acme.post(inFolder)).status).toBe(200);
    const member = callsOf(await withKey(management, acme, 'member'));
    const rows = [
      `https://a.test,a,,t,`,
      `https://a.test,b,new.${acme.host},,`,
      'https://a.test,h,,,',
      'https://a.test,i,,,Hidden',
    ];
    const job = await member.run(`url,key,domain,tags,folder\n${rows.join('\n')}\n`, { onConflict: 'update' });
    expect(job).toMatchObject({ created: 1, updated: 0, rejected: 3 });
    // Half a minute after the folder was changed, files begun then can be read (hidden-files.test.ts).
    const startedAt = new Date(Date.now() + 60_000).toISOString();
    await catalog.importJobs.update(acme.workspaceId, job.id, () => ({ startedAt }));
    const { status, text } = await member.send('GET', `/imports/${job.id}/rejected.csv`);
    expect(status).toBe(200);
    expect(text).not.toContain('secret.test');
    expect((await acme.get(`/links/info?domain=${acme.host}&key=h`)).body.url).toBe('https://secret.test/');
  });
});
