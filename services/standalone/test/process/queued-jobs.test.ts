import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environmentWith, type RunState, writeRestoredMark } from '@waymark/config';
import { waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { migratedDataDir, removeUp, runUp, UP_MS_MAX, type Up } from './run-up.js';

const CLI = fileURLToPath(new URL('../../../cli/bin/waymark.mjs', import.meta.url));
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

/** What the command line prints, to standard output and as errors. */
function run(dataDir: string, ...args: string[]): Promise<string> {
  const env = environmentWith({ DATA_DIR: dataDir, MOVE_TO_PASSWORD: 'none' });
  return new Promise((resolve) =>
    execFile(process.execPath, [CLI, ...args], { env }, (_err, out, err) => resolve(out + err)),
  );
}
/** Nothing listens at the target, so a move that is not refused fails as well. */
const move = (dataDir: string) => run(dataDir, 'move', '--to', 'http://waymark@127.0.0.1:1/waymark');

async function start(dataDir: string): Promise<{ readonly up: Up; readonly state: RunState }> {
  const up = runUp(dataDir, { SHUTDOWN_DEADLINE_MS: '1000' });
  onTestFinished(() => removeUp(up));
  const state = await up.ready();
  await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line', details: up.output });
  return { up, state };
}

async function click(state: RunState, apiKey: string): Promise<void> {
  const created = await fetch(`${state.api}/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://example.com/', key: 'try', domain: 'localhost' }),
  });
  expect(created.status).toBe(200);
  const visited = `http://localhost:${new URL(state.links).port}/try`;
  expect((await fetch(visited, { headers: { 'user-agent': BROWSER }, redirect: 'manual' })).status).toBe(302);
}

it(
  'a move is refused after a stop with jobs in the queue, and after a restore, until a stack has stopped without jobs',
  async () => {
    const dataDir = await migratedDataDir();
    const { up, state } = await start(dataDir);
    // A writer that cannot take the job, and that has to be killed when the stack stops.
    process.kill(state.pids.writer, 'SIGSTOP');
    await click(state, up.firstKey());
    expect(await up.stop()).toBe(0);
    expect(await move(dataDir)).toContain('when the stack stopped, its queue still had jobs: 1 of click');

    const { up: again } = await start(dataDir);
    const isEmpty = async () =>
      (await run(dataDir, 'status', '--json'))
        .replaceAll(/\s/g, '')
        .includes('"click":{"waiting":0,"active":0,"delayed":0}');
    await waitFor(isEmpty, { what: 'an empty queue', timeoutMs: 60_000 });
    expect(await again.stop()).toBe(0);
    expect(await move(dataDir)).toContain('ECONNREFUSED');

    writeRestoredMark(dataDir, { backupAt: '2026-11-21T02:00:00.000Z' });
    expect(await move(dataDir)).toContain('they were restored from a backup');
  },
  UP_MS_MAX,
);
