import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { leftProcesses } from '../src/run/left-processes.js';

it.skipIf(!existsSync('/proc/self/environ'))(
  'a process that a test has left is named by its command line',
  async () => {
    const command = 'echo started; read -r left_by_a_test';
    const child = spawn('sh', ['-c', command], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    const named = () => leftProcesses(process.cwd()).filter((line) => line.includes('read -r left_by_a_test'));
    expect(named()).toEqual([
      expect.stringMatching(new RegExp(`^${child.pid} \\(parent ${process.pid}, output socket:\\[\\d+\\] .*: sh -c `)),
    ]);
    const ended = once(child, 'close');
    child.stdin.end();
    await ended;
    expect(named()).toEqual([]);
  },
);
