import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { API_READ, normaliseKey } from '@waymark/catalog';
import type { ImportJob } from '@waymark/contract';
import { QUEUE_PREFIX, WEBHOOK_QUEUE } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from '../test-management.js';
import { importsOf } from './test-imports.js';

describe('POST /imports with a file', () => {
  let management: TestManagement;
  beforeAll(async () => {
    management = await startManagement();
    await management.app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => management.close());

  const callsOf = ({ token }: Caller) => importsOf(management, token);
  const find = (domain: string, key: string) =>
    management.catalog.links.findByAddress(domain, normaliseKey(key), API_READ);

  it('that is cancelled shows how much it has read and made, the batch that was running included', async () => {
    const acme = await aCaller(management);
    const { upload, send, ended } = callsOf(acme);
    const linkCount = async () => Number((await send('GET', `/links/count?domain=${acme.host}`)).text);
    const before = await linkCount();
    const rows = Array.from({ length: 3000 }, (_, row) => `https://a.test/${row},c${row},`);
    const { body: job } = await upload(`url,key,odd\n${rows.join('\n')}\n`);
    // One import of a workspace runs at a time, so this one ends after the attempt of the other has ended.
    const { body: next } = await upload('url,key\nhttps://a.test,next\n', { dryRun: 'true' });
    const madeSome = async () => (await send('GET', `/imports/${job.id}`)).body.created > 0;
    await waitFor(madeSome, { what: 'the first batch' });
    const cancelled = await send('DELETE', `/imports/${job.id}`);
    expect(cancelled.body).toMatchObject({ status: 'cancelled', bytes: expect.any(Number) });
    expect(cancelled.body.bytesRead).toBeGreaterThan(0);
    await ended(next.id);
    const { body: after } = await send('GET', `/imports/${job.id}`);
    const made = (await linkCount()) - before;
    expect(after).toMatchObject({ status: 'cancelled', rows: made, created: made });
    expect(after.created).toBeLessThan(rows.length);
    expect(after.finishedAt).toBe(cancelled.body.finishedAt);
  });

  it('makes the links, lists what it rejected and lost, and makes nothing when it is sent again', async () => {
    const acme = await aCaller(management);
    const { run, send } = callsOf(acme);
    const table = `\ufeffLong URL;Short Code;tags;created;note to self\r\nhttps://a.test/?x=1;Spring/Sale;a|b;2020-01-02;"two\nlines"\r\nno url;b;;;\r\nhttps://c.test;c;;;\r\n`;
    const job = await run(table, { tags: 'imported', history: 'counts' });
    expect(job).toMatchObject({
      ...{ source: 'csv', format: 'csv', status: 'completed', error: null, dryRun: false, tags: ['imported'] },
      ...{ rows: 3, created: 2, updated: 0, skipped: 0, rejected: 1, lost: 1 },
      ...{ bytes: Buffer.byteLength(table), bytesRead: Buffer.byteLength(table), finishedAt: expect.any(String) },
    });
    expect(Date.parse(job.expiresAt ?? '') - Date.parse(job.finishedAt ?? '')).toBe(7 * 24 * 3_600_000);
    expect(job.files.map(({ name, rows }) => [name, rows])).toEqual([
      ['rejected.csv', 1],
      ['lost.csv', 1],
    ]);
    const link = await find(acme.host, 'Spring/Sale');
    expect(link).toMatchObject({
      key: 'Spring/Sale',
      url: 'https://a.test/?x=1',
      createdAt: '2020-01-02T00:00:00.000Z',
    });
    expect(link?.tagIds).toHaveLength(3);

    const rejected = await send('GET', `/imports/${job.id}/rejected.csv`);
    expect(rejected.headers.get('content-disposition')).toBe('attachment; filename="rejected.csv"');
    expect(parse(rejected.text, { columns: true })).toEqual([
      {
        rejectedRow: '3',
        rejectedReason: expect.stringContaining('must be a URL'),
        url: 'no url',
        key: 'b',
        tags: '',
        createdAt: '',
        'note to self': '',
      },
    ]);
    const lost = await send('GET', `/imports/${job.id}/lost.csv`);
    expect(parse(lost.text, { columns: true })).toEqual([
      {
        row: '2',
        link: `${acme.host}/Spring/Sale`,
        field: 'note to self',
        value: 'two\nlines',
        reason: 'has no place here',
      },
    ]);

    const again = await run(table, { tags: 'imported', history: 'counts', onConflict: 'update' });
    expect(again).toMatchObject({ created: 0, updated: 0, skipped: 2, rejected: 1 });
    const list = await send('GET', '/imports?pageSize=1');
    expect(list.body).toMatchObject([{ id: again.id }]);
    expect(JSON.stringify(list.body)).not.toContain('directory');

    const record = await management.catalog.importJobs.get(acme.workspaceId, job.id);
    const directory = join(management.dataDir, 'imports', record?.directory ?? '');
    expect(existsSync(directory)).toBe(true);
    const removed = await send('DELETE', `/imports/${job.id}`);
    expect([removed.status, removed.body]).toMatchObject([200, { status: 'completed', files: [] }]);
    expect((await send('GET', `/imports/${job.id}`)).body.files).toEqual([]);
    expect((await send('GET', `/imports/${job.id}/rejected.csv`)).status).toBe(404);
    expect(existsSync(directory)).toBe(false);
  });

  it('counts no link as made that an earlier import has made while it was queued', async () => {
    const acme = await aCaller(management);
    const { upload, ended } = callsOf(acme);
    const table = `url,key\n${Array.from({ length: 300 }, (_, index) => `https://a.test/${index},k${index}\n`).join('')}`;
    const first = await upload(table);
    const second = await upload(table);
    expect(await ended(first.body.id)).toMatchObject({ created: 300, skipped: 0 });
    expect(await ended(second.body.id)).toMatchObject({ created: 0, skipped: 300 });
  });

  it('has the options of the command line: domains, dryRun, onConflict, NDJSON and SQL', async () => {
    const acme = await aCaller(management);
    const { run } = callsOf(acme);
    const bitly = `{"url":"https://a.test","key":"a","domain":"bit.ly"}\n`;
    const dry = await run(bitly, { domains: `bit.ly=${acme.host}`, dryRun: 'true' }, 'links.ndjson');
    expect(dry).toMatchObject({ format: 'ndjson', dryRun: true, created: 1, domains: [`bit.ly=${acme.host}`] });
    expect(await find(acme.host, 'a')).toBeUndefined();
    expect(await run(bitly, {}, 'links.ndjson')).toMatchObject({ created: 0, rejected: 1 });
    expect(await run(bitly, { domains: acme.host }, 'links.ndjson')).toMatchObject({ created: 1 });
    const dump = `INSERT INTO \`yourls_url\` VALUES ('s','https://s.test','','2020-01-02 03:04:05','::1',7),('a','https://other.test','','2020-01-02 03:04:05','::1',7);`;
    const failed = await run(dump, { source: 'yourls', timezone: 'UTC', onConflict: 'fail' }, 'yourls.sql');
    expect(failed).toMatchObject({ status: 'failed', format: 'sql' });
    expect(failed.error).toContain(`row 2: the link ${acme.host}/a exists already and differs`);
  });

  it('reports fields and records that are nested too deeply to be written, and makes the other links', async () => {
    const acme = await aCaller(management);
    const { run } = callsOf(acme);
    const deep = `${'['.repeat(15_000)}${']'.repeat(15_000)}`;
    const link = (key: string, more = '') => `{"url":"https://a.test","domain":"${acme.host}","key":"${key}"${more}}`;
    const file = [link('one', `,"note":${deep}`), deep, link('two')].join('\n');
    const job = await run(file, { source: 'dub' }, 'links.ndjson');
    expect(job).toMatchObject({ status: 'completed', created: 2, rejected: 1, lost: 1 });
  });

  it('says what is wrong with a file as a whole, at once or as the error of the import', async () => {
    const { upload, run } = callsOf(await aCaller(management));
    const refused = await upload('name,age\nx,1\n');
    expect([refused.status, refused.body.error.message]).toEqual([
      422,
      expect.stringContaining('no heading names the destination'),
    ]);
    const latin = new Uint8Array(Buffer.from('url,title\nhttps://a.test,caf\xe9\n', 'latin1'));
    const answer = await upload(latin);
    expect([answer.status, answer.body.error.message]).toEqual([422, expect.stringContaining('iconv -f latin1')]);
    const late = Buffer.concat([Buffer.from(`url,title\n${'https://a.test,x\n'.repeat(8000)}`), Buffer.from(latin)]);
    const failed = await run(new Uint8Array(late), { dryRun: 'true' });
    expect([failed.status, failed.error]).toEqual(['failed', expect.stringContaining('iconv -f latin1')]);
    expect(failed.rows).toBeGreaterThan(1000);
  });

  it('makes tags, folders and domains only with a key that may make them', async () => {
    const acme = await aCaller(management);
    const writer = await withKey(management, acme, 'owner', ['links.write']);
    const { run, send } = callsOf(writer);
    const table = `url,key,tags,folder,domain\nhttps://a.test,a,new,F,\nhttps://b.test,b,,,new.${acme.host}\n`;
    const job = await run(table);
    expect(job).toMatchObject({ created: 1, rejected: 1, lost: 2 });
    const { text } = await send('GET', `/imports/${job.id}/rejected.csv`);
    expect(text).toContain('lacks the permission ""domains.write""');
    expect(await management.catalog.tags.findByName(acme.workspaceId, 'new')).toBeUndefined();
    expect(await callsOf(acme).run(table, { onConflict: 'update' })).toMatchObject({ created: 1, updated: 1 });
    expect(await management.catalog.tags.findByName(acme.workspaceId, 'new')).toBeDefined();
  });

  it('shows an import to nobody who may not see all of its links', async () => {
    const acme = await aCaller(management);
    const { id } = await callsOf(acme).run('url,key\nno url,a\n');
    const paths = [
      ['GET', `/imports/${id}`],
      ['DELETE', `/imports/${id}`],
      ['GET', `/imports/${id}/rejected.csv`],
      ['GET', `/imports/${id}/lost.csv`],
    ] as const;
    const statusesOf = (caller: Caller) =>
      Promise.all(paths.map(async ([method, path]) => (await callsOf(caller).send(method, path)).status));
    const member = await withKey(management, acme, 'member');
    expect(await statusesOf(await aCaller(management))).toEqual([404, 404, 404, 404]);
    expect(await statusesOf(member)).toEqual([403, 403, 403, 403]);
    expect((await callsOf(member).send('GET', '/imports')).body).toEqual([]);
    const viewer = await withKey(management, acme, 'viewer');
    expect(await statusesOf(viewer)).toEqual([403, 403, 403, 403]);
    expect((await callsOf(viewer).upload('url\nhttps://a.test\n')).status).toBe(403);
    const reader = await withKey(management, acme, 'owner', ['links.read']);
    expect((await callsOf(reader).send('GET', '/imports')).status).toBe(403);
    const page = await management.catalog.keys.create({
      ...{ workspaceId: acme.workspaceId, name: 'page', kind: 'publishable', role: 'owner', scopes: [] },
    });
    expect((await importsOf(management, page.token).send('GET', `/imports/${id}`)).status).toBe(401);
    expect((await importsOf(management, page.token).upload('url\nhttps://a.test\n')).status).toBe(401);
    // What a member imports is visible to owners and to themselves.
    const own = await callsOf(member).run('url,key\nhttps://a.test,m\n');
    expect((await callsOf(acme).send('GET', `/imports/${own.id}`)).status).toBe(200);
  });

  it('sends the end of each import to webhooks once, and nothing for its links, or for one that is cancelled', async () => {
    const acme = await aCaller(management);
    await management.catalog.webhooks.create(acme.workspaceId, {
      ...{ name: 'Hook', url: 'https://hooks.example/' },
      triggers: ['link.created', 'import.completed', 'import.failed'],
    });
    const { run, send, upload, ended } = callsOf(acme);
    const table = 'url,key\nhttps://a.test,a\n';
    // One import of a workspace runs at a time, so the second waits.
    const { body: first } = await upload(`${table}${'https://a.test,a\n'.repeat(1000)}`);
    const { body: second } = await upload(table);
    expect((await send('DELETE', `/imports/${second.id}`)).body.status).toBe('cancelled');
    const completed = await ended(first.id);
    const failed = await run(table.replace('/a.', '/b.'), { onConflict: 'fail' });
    const queue = `${QUEUE_PREFIX}:${WEBHOOK_QUEUE}`;
    const sent = async () => {
      const ids = (await management.redis.lrange(`${queue}:wait`, 0, -1)).reverse();
      const texts = await Promise.all(ids.map((id) => management.redis.hget(`${queue}:${id}`, 'data')));
      return texts.map((text) => {
        const [event] = (JSON.parse(text ?? '') as { told: { body: string }[] }).told;
        return JSON.parse(event?.body ?? '') as { event: string; data: ImportJob };
      });
    };
    await waitFor(async () => (await sent()).length >= 2, { what: 'both ends' });
    expect((await sent()).map(({ event, data }) => [event, data.id])).toEqual([
      ['import.completed', completed.id],
      ['import.failed', failed.id],
    ]);
    expect((await sent())[0]?.data).toEqual((await send('GET', `/imports/${completed.id}`)).body);
  });

  it('is documented with its form and its JSON', async () => {
    const { paths } = (await management.app.inject('/openapi.json')).json();
    const { requestBody, ...operation } = paths['/imports'].post;
    expect(Object.keys(requestBody.content)).toEqual(['application/json', 'multipart/form-data']);
    const { properties, required } = requestBody.content['multipart/form-data'].schema;
    expect(properties).toMatchObject({ file: { format: 'binary' }, domains: { type: 'array' } });
    expect(required.sort()).toEqual(['file', 'source']);
    expect(Object.keys(operation)).not.toContain('x-form');
  });

  it('keeps within the quota of the plan', async () => {
    const acme = await aCaller(management, 'free');
    await management.catalog.workspaces.update(acme.workspaceId, { quotas: { linksPerMonth: 1 } });
    expect(await callsOf(acme).run('url,key\nhttps://a.test,aaaa\nhttps://b.test,bbbb\n')).toMatchObject({
      ...{ created: 1, rejected: 1, status: 'completed' },
    });
  });
});
