import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { createEventProducer } from '@waymark/event-queue';
import { aClick, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, runCli } from '../../services/cli/test/run-cli.js';
import {
  removeUp,
  runUp,
  temporaryDataDir,
  UP_MS_MAX,
  type Up,
} from '../../services/standalone/test/process/run-up.js';

const YEAR_MS = 366 * 24 * 3_600_000;
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
    up = runUp(temporaryDataDir());
    await up.ready();
  }, UP_MS_MAX);
  afterAll(async () => {
    await up.stop();
    await removeUp(up);
  }, 60_000);

  const waymark = (...args: string[]) => runCli({ DATA_DIR: up.dataDir }, ...args);
  async function json<T>(...args: string[]): Promise<T> {
    const { stdout, stderr } = await waymark(...args, '--json');
    expect(stderr).toBe('');
    return JSON.parse(stdout) as T;
  }

  it('finds the stack by its DATA_DIR and reports its health, without passwords of the stores', async () => {
    const { code, stdout } = await waymark('status', '--json');
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
    const totals = await json<Record<string, number | string>>('demo', '--seconds', '2', '--rate', '30');
    expect(totals.firstRefusal).toBeUndefined();
    expect(totals).toMatchObject({ links: 12, refused: 0 });
    expect(totals.clicks).toBeGreaterThan(20);
    const { keys } = await json<{ keys: { name: string }[] }>('key', 'list');
    expect(keys.filter(({ name }) => name.startsWith('Demo'))).toEqual([]);
  });

  it('prints events as they are stored as lines of JSON, ends when its reader does, and revokes its key', async () => {
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

  it('says what is wrong with a parameter of a stream, and ends', async () => {
    const { code, stdout, stderr } = await waymark('tail', '--event', 'orders');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^waymark: invalid_value: event: /);
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
    expect(await json('dead-letters', 'replay')).toEqual({ replayed: 1 });
    expect((await waymark('dead-letters', 'replay', 'nobody')).code).toBe(1);
  });
});
