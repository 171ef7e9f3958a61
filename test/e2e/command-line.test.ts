import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClickHouseClient } from '@waymark/clickhouse';
import { environmentWith } from '@waymark/config';
import type { Erasure } from '@waymark/contract';
import { createEventProducer } from '@waymark/event-queue';
import { aClick, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, runCli, runCommand } from '../../services/cli/test/run-cli.js';
import { migratedDataDir, removeUp, runUp, UP_MS_MAX, type Up } from '../../services/standalone/test/process/run-up.js';

const YEAR_MS = 366 * 24 * 3_600_000;
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Runs a line of the shell. */
function runShell(line: string, env: Readonly<Record<string, string>>) {
  const child = spawn('sh', ['-c', line], { env: environmentWith(env), stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString();
  });
  return { stdout: () => output.stdout, stderr: () => output.stderr, ended: once(child, 'close') };
}

describe('waymark beside a running stack', { timeout: 120_000 }, () => {
  let up: Up;

  beforeAll(async () => {
    up = runUp(await migratedDataDir());
    await up.ready();
  }, UP_MS_MAX);
  afterAll(async () => {
    await up.stop();
    await removeUp(up);
  });

  const waymark = (...args: string[]) => runCommand({ DATA_DIR: up.dataDir }, ...args);
  /** As a user runs it: it finds the stack, and ends, in a process of its own. */
  const waymarkProcess = (...args: string[]) => runCli({ DATA_DIR: up.dataDir }, ...args);
  async function json<T>(...args: string[]): Promise<T> {
    const { stdout, stderr } = await waymark(...args, '--json');
    expect(stderr).toBe('');
    return JSON.parse(stdout) as T;
  }

  /** Posts to the API, with the key of the first workspace. */
  async function call<T>(path: string, body: object): Promise<T> {
    const headers = { authorization: `Bearer ${up.firstKey()}`, 'content-type': 'application/json' };
    const answer = await fetch(`${up.state()?.api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect([path, answer.ok]).toEqual([path, true]);
    return (await answer.json()) as T;
  }

  it('finds the stack by its DATA_DIR and reports its health, without passwords of the stores', async () => {
    const { code, stdout } = await waymarkProcess('status', '--json');
    expect(code).toBe(0);
    const state = up.state();
    expect(stdout).not.toContain(new URL(state?.redis ?? '').password);
    expect(stdout).not.toContain(new URL(state?.clickhouse ?? '').password);
    expect(JSON.parse(stdout)).toMatchObject({
      stack: { api: state?.api, links: state?.links, pids: state?.pids },
      api: { ok: true },
      redis: { ok: true, maxMemoryPolicy: 'noeviction', appendOnly: true, queue: { click: { waiting: 0 } } },
      clickhouse: { ok: true },
    });
  });

  it('sends traffic through the HTTP endpoints, all of it accepted, and revokes its key', async () => {
    // Addresses as browsers show them, with a slash at the end.
    const addresses = ['--api', `${up.state()?.api}/`, '--links', `${up.state()?.links}/`];
    const totals = await json<Record<string, number | string>>('demo', '--seconds', '2', '--rate', '30', ...addresses);
    expect(totals.firstRefusal).toBeUndefined();
    expect(totals).toMatchObject({ links: 12, refused: 0 });
    expect(totals.clicks).toBeGreaterThan(20);
    const { code, stdout } = await waymarkProcess('key', 'list', '--json');
    expect(code).toBe(0);
    const { keys } = JSON.parse(stdout) as { keys: { name: string }[] };
    expect(keys.filter(({ name }) => name.startsWith('Demo'))).toEqual([]);
  });

  it('leaves a key that expires when its traffic is killed', async () => {
    const env = environmentWith({ DATA_DIR: up.dataDir });
    const demo = spawn(process.execPath, [BIN, 'demo', '--seconds', '600'], { env, stdio: 'ignore' });
    const demoKey = async () => {
      const { keys } = await json<{ keys: { id: string; name: string; expiresAt: string | null }[] }>('key', 'list');
      return keys.find(({ name }) => name.startsWith('Demo'));
    };
    const key = await waitFor(demoKey, { what: 'the key' });
    demo.kill('SIGKILL');
    await once(demo, 'close');
    expect(Date.parse(key.expiresAt ?? '')).toBeGreaterThan(Date.now());
    // The killed process may have held the lock of its key, which expires after half a minute.
    await waitFor(async () => (await waymark('key', 'revoke', key.id)).code === 0, { what: 'the revocation' });
  });

  it('prints events as they are stored as lines of JSON, ends when its reader ends, and revokes its key', async () => {
    const child = runShell(`"$NODE" "$BIN" tail --event clicks --trigger link | head -n 2`, {
      ...{ DATA_DIR: up.dataDir, NODE: process.execPath, BIN },
    });
    await waitFor(() => child.stderr().includes('following'), { what: 'the stream' });
    await json('demo', '--seconds', '2', '--rate', '30');
    await child.ended;
    const lines = child.stdout().trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['click', 'click']);
    const { keys } = await json<{ keys: { name: string }[] }>('key', 'list');
    expect(keys.filter(({ name }) => name.startsWith('Tail'))).toEqual([]);
  });

  it('prints the error of an invalid parameter of a stream, and ends', async () => {
    const { code, stdout, stderr } = await waymarkProcess('tail', '--event', 'orders');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^waymark: invalid_value: event: /);
  });

  it('stores without texts what waits in the queue of a stopped writer while its customer is erased', async () => {
    const { links = '', clickhouse = '', pids } = up.state() ?? {};
    for (const name of ['late', 'later']) {
      await call('/links', { domain: 'localhost', key: name, url: 'https://acme.com', trackConversion: true });
    }
    const writer = pids?.writer ?? 0;
    process.kill(writer, 'SIGSTOP');
    try {
      const visit = { redirect: 'manual', headers: { 'user-agent': `${BROWSER} canary-late` } } as const;
      for (const name of ['late', 'later']) {
        const visited = await fetch(`http://localhost:${new URL(links).port}/${name}`, visit);
        const clickId = new URL(visited.headers.get('location') ?? '').searchParams.get('dub_id');
        const metadata = { is: 'canary-late' };
        await call('/track/lead', { clickId, eventName: name, customerExternalId: 'canary-late', metadata });
      }
      await json('erasure', 'create', 'ext_canary-late');
    } finally {
      process.kill(writer, 'SIGCONT');
    }
    const client = createClickHouseClient({ url: clickhouse, database: 'waymark' });
    const rows = async () =>
      (
        await client.rows<[string, string]>({
          query: `SELECT payload, toString(metadata_kv) FROM lead_events UNION ALL SELECT payload, '' FROM click_events`,
        })
      ).flat();
    const stored = await waitFor(
      async () => [await rows()].find((texts) => texts.filter((text) => text.includes('"ua":""')).length === 4),
      { what: 'both clicks and both leads' },
    );
    await client.close();
    expect(stored.join()).not.toContain('canary-late');
  });

  it('erases again the people whose erasure the restored backup lacks, and leaves out customers that it lacks', async () => {
    const erased = await json<Erasure>('erasure', 'create', `ext_gone-before`, '--mode', 'delete');
    const { id: customer } = await call<{ id: string }>('/customers', { externalId: 'restored', country: 'FR' });
    // As the list was printed before the restore: the erasure is not in this installation, the second customer never was.
    const lost = { ...erased, id: 'era_8yM2oYys8Qp', mode: 'anonymise', customerIds: [customer, 'cus_00000000001'] };
    const file = join(up.dataDir, 'erasures.json');
    writeFileSync(file, JSON.stringify([lost]));
    const accepted = await json<Erasure[]>('erasure', 'replay', file);
    const { stdout } = await waymark('erasure', 'replay', file);
    expect(stdout).toContain('1 accepted\n1 left out, not in the records of this workspace: cus_00000000001');
    expect(accepted).toMatchObject([{ mode: 'anonymise', status: 'accepted', customerIds: [customer] }]);
    const listed = (await json<Erasure[]>('erasure', 'list')).map(({ id }) => id);
    expect(listed).toEqual(expect.arrayContaining([erased.id, accepted[0]?.id]));
    expect(listed).not.toContain(lost.id);
    const kept = join(up.dataDir, 'kept.json');
    expect(await json('erasure', 'list', '--output', kept)).toEqual({ file: kept, erasures: listed.length });
    expect((JSON.parse(readFileSync(kept, 'utf8')) as Erasure[]).map(({ id }) => id)).toEqual(listed);
    writeFileSync(file, '[{}]');
    const refused = await waymark('erasure', 'replay', file);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is not what')]);
  });

  it('lists a row that could not be stored with the reason, and requeues it on request', async () => {
    const logger = quiet;
    const redisUrl = up.state()?.redis ?? '';
    const producer = createEventProducer({ redisUrl, spoolDirectory: join(up.dataDir, 'other-spool'), logger });
    await waitFor(() => producer.ping().then(() => true), { what: 'the connection to Redis' });
    const tooOld = aClick({ timestampMs: Date.now() - YEAR_MS });
    await producer.commit({ rows: [{ kind: 'click', row: tooOld }], finals: [] });
    await producer.close();

    interface Letters {
      total: number;
      letters: { id: string; kind: string; error: string }[];
    }
    const parked = () =>
      waitFor(async () => [await json<Letters>('dead-letters', 'list')].find(({ total }) => total === 1), {
        what: 'the dead letter',
      });
    const { letters } = await parked();
    expect(letters).toMatchObject([{ kind: 'click', error: expect.stringMatching(/\S/) }]);
    expect(await json('dead-letters', 'replay', letters[0]?.id ?? '')).toEqual({ replayed: 1 });
    await parked();
    // The letter is skipped until the job of its first replay has ended, shortly after the row is parked again.
    const replayed = async () => (await json<{ replayed: number }>('dead-letters', 'replay')).replayed === 1;
    await waitFor(replayed, { what: 'the second replay' });
    expect((await waymark('dead-letters', 'replay', 'nobody')).code).toBe(1);
  });
});
