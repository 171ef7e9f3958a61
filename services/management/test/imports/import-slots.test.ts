import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';
import { importsOf, KEY, startKutt, startSource } from './test-imports.js';

describe('imports', () => {
  let management: TestManagement;
  beforeAll(async () => {
    management = await startManagement(Date.now);
    await management.app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => management.close());

  const callsOf = ({ token }: Caller) => importsOf(management, token);

  it('that wait for their sources do not keep those of other workspaces from running', async () => {
    const { state, body } = await startKutt();
    const waiting = await Promise.all(Array.from({ length: 5 }, () => aCaller(management)));
    const jobs = await Promise.all(
      waiting.map(async (caller) => ({ caller, job: (await callsOf(caller).post(body)).body })),
    );
    await waitFor(async () => state.firstPages === 5, { what: 'all of them to wait' });
    const other = callsOf(await aCaller(management));
    expect(await other.run('url,key\nhttps://a.test,a\n')).toMatchObject({ status: 'completed', created: 1 });
    for (const { caller, job } of jobs) await callsOf(caller).send('DELETE', `/imports/${job.id}`);
  });

  const WAITS = [429, { 'retry-after': '1' }, {}] as const;
  const nothingNew = (page: number) => [200, {}, [{ id: `f${page % 2}`, name: `${page}` }]] as const;

  it.each([
    ['require short waits for a minute', () => WAITS, 61_000],
    ['answer without an end for ten minutes', nothingNew, 601_000],
  ])('whose sources %s let those of other workspaces run', async (_what, answer, ms) => {
    let nowMs = Date.now();
    const own = await startManagement(() => nowMs);
    onTestFinished(() => own.close());
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    let requests = 0;
    const asked = new Set<string | undefined>();
    const source = await startSource((request) => {
      asked.add(request.headers.authorization);
      return answer(requests++);
    });
    onTestFinished(source.close);
    for (const apiKey of ['key-1', 'key-2', 'key-3', 'key-4']) {
      const { post } = importsOf(own, (await aCaller(own)).token);
      await post({ source: 'dub', address: source.address, credentials: { apiKey } });
    }
    await waitFor(() => asked.size === 4, { what: 'requests of all of them' });
    const { upload, ended } = importsOf(own, (await aCaller(own)).token);
    const { body: job } = await upload('url,key\nhttps://a.test,a\n');
    nowMs += ms;
    expect(await ended(job.id)).toMatchObject({ status: 'completed', created: 1 });
  });

  it('that wait for a slot are stopped when they are cancelled', async () => {
    const waits: (() => void)[] = [];
    const kept: (() => void)[] = [];
    const source = createServer((_request, response) => {
      if (waits.length > 0) return void kept.push(() => response.end('{"data":[]}'));
      waits.push(() => response.writeHead(429, { 'retry-after': '5' }).end());
    });
    await once(source.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      source.closeAllConnections();
      source.close();
    });
    const address = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
    const body = { source: 'kutt', address, credentials: { apiKey: KEY } };
    const first = callsOf(await aCaller(management));
    const { body: waiting } = await first.post(body);
    await waitFor(() => waits.length === 1, { what: 'its request' });
    for (let count = 0; count < 4; count++) await callsOf(await aCaller(management)).post(body);
    await waitFor(() => kept.length === 3, { what: 'the requests of those that have a slot' });
    for (const wait of waits) wait();
    await waitFor(() => kept.length === 4, { what: 'the request of the one that takes the slot of the first' });
    const { body: next } = await first.upload('url,key\nhttps://a.test,a\n');
    const { importJobs } = management.catalog;
    const { get } = importJobs;
    let reads = 0;
    importJobs.get = (workspaceId, id) => {
      if (id === waiting.id) reads++;
      return get(workspaceId, id);
    };
    onTestFinished(() => {
      importJobs.get = get;
    });
    // Every two seconds, also after the five.
    await waitFor(() => reads >= 5, { what: 'checks while it waits for a slot' });
    await first.send('DELETE', `/imports/${waiting.id}`);
    for (const answer of kept) answer();
    expect(await first.ended(next.id)).toMatchObject({ status: 'completed', created: 1 });
  });

  it('keep their slots during a request, however long they have had them', async () => {
    let nowMs = Date.now();
    const own = await startManagement(() => nowMs);
    onTestFinished(() => own.close());
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    const first: (() => void)[] = [];
    const second: (() => void)[] = [];
    const source = createServer(({ url }, response) => {
      const isFirst = url?.includes('skip=0') === true;
      const data = isFirst ? [{ address: 'a', target: 'https://a.test' }] : [];
      (isFirst ? first : second).push(() => response.end(JSON.stringify({ data })));
    });
    await once(source.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      source.closeAllConnections();
      source.close();
    });
    const address = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
    for (let count = 0; count < 4; count++) {
      const { post } = importsOf(own, (await aCaller(own)).token);
      await post({ source: 'kutt', address, credentials: { apiKey: KEY } });
    }
    await waitFor(() => first.length === 4, { what: 'the first request of all of them' });
    nowMs += 601_000;
    for (const answer of first) answer();
    await waitFor(() => second.length === 4, { what: 'the second request of all of them' });
    const { upload, send, ended } = importsOf(own, (await aCaller(own)).token);
    const { body: job } = await upload('url,key\nhttps://a.test,a\n');
    for (let count = 0; count < 50; count++)
      expect((await send('GET', `/imports/${job.id}`)).body).toMatchObject({ startedAt: null });
    for (const answer of second) answer();
    expect(await ended(job.id)).toMatchObject({ status: 'completed', created: 1 });
  });

  it('end when they are cancelled after the clock was set back, while their source answers nothing new', async () => {
    let aheadMs = 0;
    const own = await startManagement(() => Date.now() + aheadMs);
    onTestFinished(() => own.close());
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    const { post, send, run } = importsOf(own, (await aCaller(own)).token);
    let requests = 0;
    const source = await startSource(() => nothingNew(requests++));
    onTestFinished(source.close);
    const { body: job } = await post({ source: 'dub', address: source.address, credentials: { apiKey: KEY } });
    await waitFor(() => requests >= 2, { what: 'a request for more' });
    aheadMs = -3_600_000;
    await send('DELETE', `/imports/${job.id}`);
    // One import of a workspace runs at a time.
    expect(await run('url,key\nhttps://a.test,a\n')).toMatchObject({ status: 'completed', created: 1 });
  });

  it.each([
    ['requires a wait', () => WAITS],
    ['answers nothing new', nothingNew],
  ])('end after a week, also while their source %s again and again', async (_what, answer) => {
    let nowMs = Date.now();
    const own = await startManagement(() => nowMs);
    onTestFinished(() => own.close());
    await own.app.listen({ host: '127.0.0.1', port: 0 });
    const { post, ended } = importsOf(own, (await aCaller(own)).token);
    let requests = 0;
    const source = await startSource((request) => {
      const isList = request.url?.startsWith('/folders') === true;
      requests++;
      return isList ? [200, {}, []] : answer(requests);
    });
    onTestFinished(source.close);
    const { body: job } = await post({ source: 'dub', address: source.address, credentials: { apiKey: KEY } });
    await waitFor(async () => requests >= 2, { what: 'a request for links' });
    nowMs += 8 * 24 * 3_600_000;
    expect(await ended(job.id)).toMatchObject({ status: 'failed', error: 'The import did not end within 7 days.' });
  });
});
