import { fork } from 'node:child_process';
import { once } from 'node:events';
import { environmentWith } from '@waymark/config';
import { bundleProcess } from '@waymark/test-kit';
import { expect, it } from 'vitest';

const FULL_PIPE = await bundleProcess(new URL('./full-pipe.ts', import.meta.url));

it('a slow reader gets the last bytes, and the command ends with success', async () => {
  const child = fork(FULL_PIPE, [], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: environmentWith({}),
  });
  const closed = once(child, 'close');
  expect(await once(child, 'message')).toEqual(['full', undefined]);
  const report = once(child, 'message');
  let read = 0;
  child.stdout?.on('data', (bytes: Buffer) => {
    read += bytes.length;
  });
  const [code] = await closed;
  expect(code).toBe(0);
  const [{ bytes, left }] = (await report) as [{ bytes: number; left: number }];
  expect({ read, left }).toEqual({ read: bytes, left: 0 });
});
