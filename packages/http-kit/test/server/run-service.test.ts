import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleProcess } from '@waymark/test-kit';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';

let compiled: string;
let directory: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  // One file: the package imports libraries and schemas that take a second to load, and that no test here uses.
  ({ href: compiled } = await bundleProcess(new URL('../../src/server/run-service.ts', import.meta.url)));
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'waymark-run-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  /** Resolves when the process has printed the text. */
  untilPrinted(text: string): Promise<void>;
  readonly output: () => string;
  readonly exit: Promise<number | string | null>;
}

/** Runs `runService(async () => { … }, options)` in a separate process. */
function run(body: string, options: { forked?: boolean; deadlineMs?: number } = {}): Run {
  const file = join(directory, `service-${children.length}.mjs`);
  writeFileSync(
    file,
    `import { runService } from ${JSON.stringify(compiled)};
     const print = (text) => process.stdout.write(text + '\\n');
     // Registers the handler before it prints, because the test sends the signal at once.
     const signalAfter = (text) => new Promise((resolve) => { process.once('SIGWINCH', resolve); print(text); });
     const keepAlive = setInterval(() => {}, 1000);
     await runService(async () => { ${body} }, { deadlineMs: ${options.deadlineMs ?? 10_000} });
     print('started');`,
  );
  const child = options.forked
    ? fork(file, { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    : spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let text = '';
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk;
      for (const check of waiting) check();
    });
  }
  // Not the child's own 'close' event, which is not emitted after a disconnect.
  const streamsEnded = Promise.all([child.stdout, child.stderr].map((stream) => stream && once(stream, 'close')));
  const exit = once(child, 'exit').then(async ([code, signal]) => {
    await streamsEnded;
    return (code ?? signal) as number | string | null;
  });
  return {
    child,
    output: () => text,
    exit,
    untilPrinted: (expected) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!text.includes(expected)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        void exit.then(() => reject(new Error(`ended without printing ${expected}: ${text}`)));
        check();
      }),
  };
}

const CLEAN = `return { close: async () => { print('closed'); } };`;

it.each(['SIGTERM', 'SIGHUP'] as const)(
  '%s stops it in order, before the deadline, with exit code 0',
  async (signal) => {
    const service = run(CLEAN, { deadlineMs: 600_000 });
    await service.untilPrinted('started');
    service.child.kill(signal);
    expect(await service.exit).toBe(0);
    expect(service.output()).toContain('closed');
  },
);

it('a Ctrl-C that arrives twice, from the terminal and from npm, still stops it in order', async () => {
  const service = run(`return { close: async () => {
    process.on('SIGINT', () => print('received again'));
    await signalAfter('closing');
    print('closed');
  } };`);
  await service.untilPrinted('started');
  service.child.kill('SIGINT');
  await service.untilPrinted('closing');
  service.child.kill('SIGINT');
  await service.untilPrinted('received again');
  service.child.kill('SIGWINCH');
  expect(await service.exit).toBe(0);
  expect(service.output()).toContain('closed');
});

it('repeated signals make it exit immediately, with exit code 1', async () => {
  const service = run(`return { close: () => new Promise(() => print('closing')) };`, { deadlineMs: 600_000 });
  await service.untilPrinted('started');
  service.child.kill('SIGINT');
  await service.untilPrinted('closing');
  service.child.kill('SIGINT');
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(1);
});

it('the process exits at the deadline when close hangs, with exit code 1', async () => {
  const service = run(`return { close: () => new Promise(() => {}) };`, { deadlineMs: 300 });
  await service.untilPrinted('started');
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(1);
});

it('a close that fails is logged and exits with code 1', async () => {
  const service = run(`return { close: () => Promise.reject(new Error('flush failed')) };`);
  await service.untilPrinted('started');
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(1);
  expect(service.output()).toContain('flush failed');
});

it.each([
  ['an unhandled rejection', `setImmediate(() => { void Promise.reject(new Error('lost')); });`],
  ['an uncaught exception', `setImmediate(() => { throw new Error('lost'); });`],
])('%s is logged and fatal, after an orderly stop', async (_what, fault) => {
  const service = run(`${fault} ${CLEAN}`);
  expect(await service.exit).toBe(1);
  expect(service.output()).toContain('lost');
  expect(service.output()).toContain('closed');
});

it('a start that fails logs the reason and exits with code 1', async () => {
  const service = run(`throw new Error('port taken');`);
  expect(await service.exit).toBe(1);
  expect(service.output()).toContain('could not start: port taken');
});

it('a stop during start-up waits for start-up, then closes the service', async () => {
  const service = run(`await signalAfter('starting');
    ${CLEAN}`);
  await service.untilPrinted('starting');
  service.child.kill('SIGTERM');
  await service.untilPrinted('stopping');
  service.child.kill('SIGWINCH');
  expect(await service.exit).toBe(0);
  expect(service.output()).toContain('closed');
});

it('a child sends ready to its parent once it has started, not before', async () => {
  const service = run(`await signalAfter('starting'); ${CLEAN}`, {
    forked: true,
  });
  const messages: unknown[] = [];
  service.child.on('message', (message) => messages.push(message));
  await service.untilPrinted('starting');
  expect(messages).toEqual([]);
  service.child.kill('SIGWINCH');
  await once(service.child, 'message');
  expect(messages).toEqual([{ ready: true }]);
});

it('a child stops when its parent exits', async () => {
  const service = run(CLEAN, { forked: true });
  await service.untilPrinted('started');
  service.child.disconnect();
  expect(await service.exit).toBe(0);
  expect(service.output()).toContain('closed');
});

it('a child whose parent exits while it is loading stops without starting', async () => {
  const service = run(`print('starting'); ${CLEAN}`, { forked: true });
  service.child.disconnect();
  expect(await service.exit).toBe(0);
  expect(service.output()).not.toContain('starting');
});

it('a child ignores Ctrl-C, because its parent stops the children in order', async () => {
  const service = run(CLEAN, { forked: true });
  await service.untilPrinted('started');
  service.child.kill('SIGINT');
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(0);
  expect(service.output()).toContain('"reason":"SIGTERM"');
  expect(service.output()).not.toContain('"reason":"SIGINT"');
});
