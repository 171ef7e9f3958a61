import { spawn } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { environmentWith } from '@waymark/config';
import {
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BIN, runCommand } from './run-cli.js';

const KEY = 'key-of-the-source-1234';

describe('waymark import', { timeout: 120_000 }, () => {
  let redis: TestRedis;
  let database: TestDatabase;
  let dir: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    dir = temporaryDirectory('waymark-import-');
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    env = {
      ...{ DATA_DIR: dir, REDIS_URL: redis.url, CLICKHOUSE_URL: database.url, CLICKHOUSE_DATABASE: database.database },
      ...{ INSTANCE_KEY: 'ab'.repeat(32), OUTBOUND_ALLOWED_RANGES: '127.0.0.1', IMPORT_CREDENTIAL: KEY },
    };
    for (const slug of ['acme', 'killed', 'cut-over']) {
      const made = await runCommand(env, 'workspace', 'create', '--slug', slug, '--domain', `go.${slug}.test`);
      expect(made.code).toBe(0);
    }
  });
  afterAll(async () => {
    await Promise.all([redis.stop(), database.drop()]);
    rmSync(dir, { recursive: true });
  });

  const run = (...args: string[]) => runCommand(env, 'import', ...args, '--report', join(dir, 'report'));
  function aFile(name: string, content: string): string {
    const path = join(dir, name);
    writeFileSync(path, content);
    return path;
  }
  async function linksOf(domain: string): Promise<number> {
    const answer = await database.client.query({
      query: 'SELECT count() AS links FROM links FINAL WHERE domain = {domain:String}',
      query_params: { domain },
      format: 'JSONEachRow',
    });
    return Number(((await answer.json()) as { links: string }[])[0]?.links);
  }

  it('makes the links of a table and lists the wrong rows in a file that can be imported again', async () => {
    const file = aFile('links.csv', 'Long URL;slug;title;ip\nhttps://a.test;a;A;::1\nnot a url;b;"B; and ""b""";\n');
    const args = ['csv', file, '--workspace', 'acme', '--tags', 'imported', '--domain', 'csv.acme.test', '--json'];
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      rows: 2,
      created: 1,
      updated: 0,
      skipped: 0,
      rejected: 1,
      dryRun: false,
    });
    const rejected = join(dir, 'report-rejected.csv');
    expect(readFileSync(rejected, 'utf8')).toBe(
      'rejectedRow,rejectedReason,url,key,title,ip\r\n3,invalid_format: url: must be a URL,not a url,b,"B; and ""b""",\r\n',
    );
    expect(statSync(rejected).mode & 0o077).toBe(0);
    expect(readFileSync(join(dir, 'report-lost.csv'), 'utf8')).toBe(
      'row,link,field,value,reason\r\n2,csv.acme.test/a,ip,::1,has no place here\r\n',
    );
    const mended = aFile('mended.csv', readFileSync(rejected, 'utf8').replace('not a url', 'https://b.test'));
    const again = await run('csv', mended, ...args.slice(2));
    expect(JSON.parse(again.stdout)).toMatchObject({ rows: 1, created: 1, rejected: 0 });
  });

  it('reads standard input for -', async () => {
    const stdin = vi.spyOn(process, 'stdin', 'get');
    stdin.mockReturnValue(Readable.from([Buffer.from('url,key\nhttps://in.test,in\n')]) as never);
    onTestFinished(() => stdin.mockRestore());
    const { stdout } = await run('csv', '-', '--workspace', 'acme', '--domain', 'stdin.acme.test');
    expect(stdout).toContain('1 rows: 1 created');
    expect(await linksOf('stdin.acme.test')).toBe(2);
  });

  it('leaves no report of an earlier run, and keeps the report that it imports until all of it was read', async () => {
    const args = ['--workspace', 'acme', '--domain', 'again.acme.test', '--report', join(dir, 'again')];
    const of = (path: string, ...more: string[]) => runCommand(env, 'import', 'csv', path, ...args, ...more);
    const report = join(dir, 'again-rejected.csv');
    await of(aFile('wrong.csv', 'url,key,ip\nhttps://a.test,a,::1\nnot a url,b,\n'));
    expect([existsSync(report), existsSync(join(dir, 'again-lost.csv'))]).toEqual([true, true]);
    const mended = readFileSync(report, 'utf8').replace('not a url', 'https://b.test').replace(',b,', ',a,');
    writeFileSync(report, mended.replace('\r\n', '\r\n3,x,no url,c,\r\n'));
    const failed = await of(report, '--on-conflict', 'fail');
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('exists already and differs')]);
    expect(readFileSync(report, 'utf8')).toContain('https://b.test');
    await of(report);
    expect(readFileSync(report, 'utf8')).not.toContain('https://b.test');
    expect(readFileSync(report, 'utf8')).toContain('2,invalid_format');
    await of(aFile('right.csv', 'url,key\nhttps://a.test,a\n'));
    expect([existsSync(report), existsSync(join(dir, 'again-lost.csv'))]).toEqual([false, false]);
  });

  it('writes its report to no file that another user has put beside it', async () => {
    const report = join(dir, 'planted-rejected.csv');
    const victim = aFile('victim', 'untouched');
    symlinkSync(victim, `${report}.part`);
    const args = ['--workspace', 'acme', '--domain', 'planted.acme.test', '--report', join(dir, 'planted')];
    const { code } = await runCommand(env, 'import', 'csv', aFile('planted.csv', 'url,key\nnot a url,b\n'), ...args);
    expect(code).toBe(1);
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    const written = lstatSync(report);
    expect([written.isFile(), written.mode & 0o777]).toEqual([true, 0o600]);
  });

  it('reads an API with the key of the environment, which it never prints', async () => {
    const server = createServer(({ url = '', headers }, response) => {
      const isAllowed = headers['x-api-key'] === KEY;
      const link = { address: 'a/B', target: 'https://a.test', domain: 'old.test', visit_count: 9 };
      const data = url.includes('skip=0') ? [link] : [];
      response.writeHead(isAllowed ? 200 : 401).end(JSON.stringify({ data }));
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ['kutt', address, '--workspace', 'acme', '--domain', 'old.test=kutt.acme.test', '--history', 'counts'];
    const dry = await run(...args, '--dry-run');
    expect(dry.stdout).toContain('would be: 1 rows: 1 created');
    expect(await linksOf('kutt.acme.test')).toBe(0);
    const first = await run(...args);
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('1 created')]);
    const second = await run(...args);
    expect(second.stdout).toContain('0 created, 0 updated, 1 skipped');
    const refused = await runCommand({ ...env, IMPORT_CREDENTIAL: 'another-key' }, 'import', ...args);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('refuses the credentials (401)')]);
    expect(JSON.stringify([dry, first, second, refused])).not.toMatch(/key-of-the-source|another-key/);
  });

  it.each([
    [['dub2', 'x.csv'], 'there is no source "dub2"'],
    [['csv'], 'csv needs a file'],
    [['csv', 'missing.csv'], 'the file missing.csv cannot be read'],
    [['csv', 'docs'], 'docs is a folder, not a file'],
    [['yourls', 'x.sql'], '--timezone is required'],
    [['yourls', 'x.sql', '--timezone', 'Mars'], '--timezone must be a zone'],
    [
      ['csv', 'x.csv', '--history', 'events'],
      '--history events is possible for dub, yourls, shlink; csv has counts only',
    ],
    [['dub', 'README.md', '--history', 'events'], 'files of dub have no events: events are read from its API'],
    [['csv', 'x.csv', '--on-conflict', 'replace'], '--on-conflict must be one of skip, update, fail'],
    [['csv', 'x.csv', '--domain', 'a=b=c'], 'waymark: domain "a=b=c" must be old=new'],
    [['csv', 'x.csv', '--domain', 'a=b', '--domain', 'a=c'], 'the links of a go to b already'],
  ])('refuses %j and says why', async (args, message) => {
    const refused = await run(...args, '--workspace', 'acme');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  it.each([
    ['missing', undefined, 'the API key of kutt is missing: set IMPORT_CREDENTIAL, or write it to standard input'],
    ['of several lines', 'one\ntwo', 'the API key of kutt has several lines: it must be one'],
    [
      'too long',
      Array.from({ length: 1_000 }, (_, n) => n + 1e4).join(''),
      'the API key of kutt is too long: it has at most 4096 characters',
    ],
  ])('refuses a key that is %s, and says so without the key', async (_what, credential, message) => {
    const args = ['import', 'kutt', 'http://127.0.0.1:9', '--workspace', 'acme'];
    const { IMPORT_CREDENTIAL: _, ...others } = env;
    const stdin = vi.spyOn(process, 'stdin', 'get');
    stdin.mockReturnValue(Readable.from([Buffer.from(' \n')]) as never);
    onTestFinished(() => stdin.mockRestore());
    const set = credential === undefined ? others : { ...others, IMPORT_CREDENTIAL: credential };
    const { code, stderr } = await runCommand(set, ...args);
    expect([code, stderr]).toEqual([1, `waymark: ${message}\n`]);
  });

  it('that is killed and run again makes every link once', async () => {
    const rows = Array.from({ length: 1500 }, (_, n) => `https://a.test/${n},k/${n},"t${n % 5}"`);
    const file = aFile('killed.csv', `url,key,tags\n${rows.join('\n')}\n`);
    const args = ['import', 'csv', file, '--workspace', 'killed', '--report', join(dir, 'killed')];
    const child = spawn(process.execPath, [BIN, ...args], { env: environmentWith(env), stdio: 'ignore' });
    const ended = new Promise<string | null>((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    // The root link is there from the start.
    await waitFor(async () => (await linksOf('go.killed.test')) > 1, { what: 'the first links' });
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    const before = await linksOf('go.killed.test');
    expect(before).toBeLessThan(1501);
    const rerun = await run('csv', file, '--workspace', 'killed', '--json');
    expect(rerun).toMatchObject({ code: 0 });
    expect(JSON.parse(rerun.stdout)).toMatchObject({ rows: 1500, updated: 0, rejected: 0 });
    expect(await linksOf('go.killed.test')).toBe(1501);
    expect(JSON.parse((await run('csv', file, '--workspace', 'killed', '--json')).stdout)).toMatchObject({
      created: 0,
      skipped: 1500,
    });
    expect(existsSync(join(dir, 'killed-rejected.csv'))).toBe(false);
  }, 120_000);

  async function eventsOf(domain: string): Promise<{ stored: number; different: number; counted: number }> {
    const answer = await database.client.query({
      query: `WITH (SELECT any(workspace_id) FROM links FINAL WHERE domain = {domain:String}) AS workspace
        SELECT toUInt32(count()) AS stored, toUInt32(uniqExact(click_id)) AS different,
          (SELECT toUInt32(sum(clicks)) FROM link_totals WHERE workspace_id = workspace) AS counted
        FROM click_events WHERE workspace_id = workspace`,
      query_params: { domain },
      format: 'JSONEachRow',
    });
    return ((await answer.json()) as { stored: number; different: number; counted: number }[])[0] as never;
  }

  it('stores the clicks of a log of YOURLS, and lists those that cannot be stored', async () => {
    const links = aFile('links-of-log.csv', 'keyword,url,title,timestamp,ip,clicks\nAb,https://a.test,A,,,9\n');
    const rows = [
      '1,2020-01-01 00:00:00,Ab,direct,,,DE',
      '2,2020-01-02 00:00:00,gone,direct,,,DE',
      '3,never,Ab,direct,,,DE',
    ];
    const log = aFile(
      'log.csv',
      `click_id,click_time,shorturl,referrer,user_agent,ip_address,country_code\n${rows.join('\n')}\n`,
    );
    const args = ['yourls', links, '--workspace', 'acme', '--domain', 'log.acme.test', '--timezone', 'UTC'];
    const { code, stdout } = await run(...args, '--history', 'events', '--log', log);
    expect(code).toBe(1);
    expect(stdout).toContain(
      '3 events: 1 clicks, 0 leads, 0 sales, 0 customers, 0 repeated, 0 too old, 0 of bots, 2 rejected',
    );
    const rejected = join(dir, 'report-events-rejected.csv');
    expect(stdout).toContain(`${rejected}: 2 rows`);
    expect(readFileSync(rejected, 'utf8')).toContain('3,there is no link log.acme.test/gone in this workspace,');
    expect(statSync(rejected).mode & 0o077).toBe(0);
  });

  async function clicksOf(domain: string): Promise<number> {
    const answer = await database.client.query({
      query: `SELECT toUInt32(count()) AS stored FROM click_events
        WHERE link_id IN (SELECT id FROM links FINAL WHERE domain = {domain:String})`,
      query_params: { domain },
      format: 'JSONEachRow',
    });
    return ((await answer.json()) as { stored: number }[])[0]?.stored ?? 0;
  }

  it('stores the clicks of a log of YOURLS on the domain of its links, or ends', async () => {
    let pages = 0;
    const server = createServer((_request, response) => {
      const link = { shorturl: `${site}/Ab`, url: 'https://a.test', title: 'A', timestamp: '', clicks: 1 };
      response.end(JSON.stringify({ links: pages++ === 0 ? { link_1: link } : {} }));
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const site = `http://${host}/short`;
    // The primary domain has links of the same keys.
    const own = aFile('own.csv', 'key,url\nAb,https://own.test\nshort/Ab,https://own.test\n');
    expect((await run('csv', own, '--workspace', 'acme')).code).toBe(0);
    const heading = 'click_id,click_time,shorturl,referrer,user_agent,ip_address,country_code\n';
    const logOf = (id: number) => aFile(`log-${id}.csv`, `${heading}${id},2021-01-01 00:00:00,Ab,direct,,,DE\n`);
    const args = ['--workspace', 'acme', '--timezone', 'UTC', '--history', 'events', '--log'];
    const { stdout } = await run('yourls', site, ...args, logOf(11), '--domain', `${host}=s.acme.test`);
    expect(stdout).toContain('1 events: 1 clicks');
    expect([await clicksOf('s.acme.test'), await clicksOf('go.acme.test')]).toEqual([1, 0]);
    const links = aFile('with-shorturl.csv', 'shorturl,url\nhttps://sho.rt/Ab,https://a.test\n');
    for (const options of [[], ['--domain', 'sho.rt=s.acme.test']]) {
      const { code, stderr } = await run('yourls', links, ...args, logOf(12), ...options);
      expect([code, stderr]).toEqual([1, expect.stringContaining('name one new domain for both')]);
    }
    expect(await linksOf('sho.rt')).toBe(0);
    const moved = await run('yourls', links, ...args, logOf(12), '--domain', 's.acme.test');
    expect(moved.stdout).toContain('1 events: 1 clicks');
    const primary = await run('yourls', links, ...args, logOf(13), '--domain', 'sho.rt=go.acme.test');
    expect(primary.stdout).toContain('1 events: 1 clicks');
    expect([await clicksOf('s.acme.test'), await clicksOf('go.acme.test')]).toEqual([2, 1]);
  });

  /** Whether a list is continued from one of its records, of which the stubs have no more. */
  const isContinued = (query: URLSearchParams) => query.has('startingAfter') || query.has('endingBefore');

  it('of events that is killed goes on after its last batch, and stores every event once', async () => {
    const link = { id: 'link_1', domain: 'old.test', key: 'try', url: 'https://a.test' };
    const clicks = Array.from({ length: 12_500 }, (_, n) => {
      const timestamp = new Date(Date.UTC(2024, 0, 1) + n * 60_000).toISOString();
      return { event: 'click', timestamp, link, click: { id: `oldclick${String(n).padStart(8, '0')}`, timestamp } };
    });
    let starts: string[] = [];
    let isHanging = true;
    let isHeld = false;
    const server = createServer(({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://stub');
      const start = searchParams.get('start') ?? '';
      if (pathname === '/links') return response.end(isContinued(searchParams) ? '[]' : JSON.stringify([link]));
      if (pathname !== '/events' || searchParams.get('event') !== 'clicks') return response.end('[]');
      starts.push(start);
      const [page, limit] = [Number(searchParams.get('page')), Number(searchParams.get('limit'))];
      const found = clicks.filter(({ timestamp }) => timestamp >= start).slice((page - 1) * limit, page * limit);
      if (isHanging && found.length < 1000) isHeld = true;
      else response.end(JSON.stringify(found));
      return response;
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ['dub', address, '--workspace', 'cut-over', '--domain', 'go.cut-over.test', '--history', 'events'];
    const child = spawn(process.execPath, [BIN, 'import', ...args, '--report', join(dir, 'cut-over')], {
      env: environmentWith(env),
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await waitFor(async () => isHeld, { what: 'the end of the first run' });
    child.kill('SIGKILL');
    await ended;
    server.closeAllConnections();
    expect(await eventsOf('go.cut-over.test')).toEqual({ stored: 11_989, different: 11_989, counted: 11_989 });
    isHanging = false;
    starts = [];
    const again = await run(...args, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      skipped: 1,
      events: { clicks: 12_500, repeated: 0, rejected: 0 },
    });
    expect(await eventsOf('go.cut-over.test')).toEqual({ stored: 12_500, different: 12_500, counted: 12_500 });
    // Of thirteen pages the last one, and those that show that no more follow.
    expect(starts.length).toBeLessThan(8);
    expect(JSON.stringify(again)).not.toContain(KEY);
  });

  it('of events that is killed and continued lists the rejected events of both runs', async () => {
    const made = await runCommand(env, 'workspace', 'create', '--slug', 'twice', '--domain', 'go.twice.test');
    expect(made.code).toBe(0);
    const rows = Array.from({ length: 12_500 }, (_, n) => {
      const key = [1, 2, 12_400].includes(n) ? 'gone' : 'Ab';
      return `${n},2020-01-01 00:00:00,${key},direct,,,DE\n`;
    });
    const heading = 'click_id,click_time,shorturl,referrer,user_agent,ip_address,country_code\n';
    const log = aFile('twice-log.csv', `${heading}${rows.join('')}`);
    const links = aFile('twice.csv', 'keyword,url,title,timestamp,ip,clicks\nAb,https://a.test,A,,,9\n');
    const report = join(dir, 'twice-events-rejected.csv');
    const args = ['yourls', links, '--workspace', 'twice', '--timezone', 'UTC', '--history', 'events', '--log', log];
    const named = ['import', ...args, '--report', join(dir, 'twice')];
    const child = spawn(process.execPath, [BIN, ...named], { env: environmentWith(env), stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await waitFor(async () => (await eventsOf('go.twice.test')).stored > 0, { what: 'the first batch' });
    child.kill('SIGKILL');
    await ended;
    const reasons = () =>
      readFileSync(report, 'utf8')
        .split('\r\n')
        .map((line) => line.split(',')[0]);
    expect(reasons()).toEqual(['rejectedRow', '3', '4', '']);
    const { code, stdout } = await runCommand(env, ...named);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`${report}: 3 rows`)]);
    expect(stdout).toContain('12500 events: 12497 clicks');
    expect(reasons()).toEqual(['rejectedRow', '3', '4', '12402', '']);
    expect(statSync(report).mode & 0o077).toBe(0);
  });

  it('an import of events that is interrupted says how to go on', async () => {
    let isHeld = false;
    const link = { id: 'link_1', domain: 'old.test', key: 'held', url: 'https://a.test' };
    const server = createServer(({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://stub');
      if (pathname === '/links') return response.end(isContinued(searchParams) ? '[]' : JSON.stringify([link]));
      if (!searchParams.has('event')) return response.end('[]');
      isHeld = true;
      return response;
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ['dub', address, '--workspace', 'cut-over', '--domain', 'go.cut-over.test', '--history', 'events'];
    const child = spawn(process.execPath, [BIN, 'import', ...args, '--report', join(dir, 'held')], {
      env: environmentWith(env),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let printed = '';
    child.stderr.on('data', (text: Buffer) => {
      printed += text;
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    await waitFor(async () => isHeld, { what: 'the first page to be requested' });
    child.kill('SIGINT');
    expect([await ended, printed]).toEqual([
      1,
      'waymark: interrupted. Run the same command again: it continues where it was\n',
    ]);
  });
});
