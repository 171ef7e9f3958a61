import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runAsStranger, temporaryDirectory } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { rejectStartingStack } from '../src/stack-lock.js';

const IS_ALIVE = new URL('../dist/is-alive.js', import.meta.url);

it('a stack that is starting is not overlooked', () => {
  const dataDir = temporaryDirectory('waymark-stack-lock-');
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(join(dataDir, 'run', 'supervisor.lock'), JSON.stringify({ supervisor: { pid: process.ppid } }));
  expect(() => rejectStartingStack(dataDir)).toThrow(
    `a stack on ${dataDir} is starting or stopping (process ${process.ppid}): try again`,
  );
});

it('a process of another user is not overlooked', () => {
  const script = `import { isAlive } from './is-alive.js'; console.log(isAlive(1));`;
  expect(runAsStranger([IS_ALIVE], script)).toBe('true\n');
});
