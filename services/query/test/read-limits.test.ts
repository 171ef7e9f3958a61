import { findQueueLimits } from '@waymark/test-kit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createReadRunners } from '../src/workspace-concurrency.js';

it('six reads run at once, four of one workspace; a hundred of it wait, and four hundred of all, for five seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { runSharedRead } = createReadRunners({} as never);
  expect(await findQueueLimits(runSharedRead, (ms) => void vi.advanceTimersByTime(ms), 5000)).toEqual({
    ...{ runningOfOne: 4, running: 6, waitingOfOne: 100, waiting: 400, refused: [0, 400] },
  });
});
