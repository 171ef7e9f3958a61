import { expect, it } from 'vitest';
import { createConcurrencyLimit } from '../../src/delivery/concurrency-limit.js';

interface Run {
  readonly endedMs: number;
  readonly tries: number;
  readonly activeMax: number;
}

/** Runs a backlog of one webhook with a clock of its own: a try takes a millisecond, and a job as long as the receiver needs. */
function runBacklog(jobs: number, receiverMs: (atMs: number) => number): Run {
  let nowMs = 1_000_000;
  const startMs = nowMs;
  const limit = createConcurrencyLimit(() => nowMs);
  const due = Array.from({ length: jobs }, () => nowMs);
  const running: { readonly untilMs: number; readonly tookMs: number }[] = [];
  const run = { endedMs: 0, tries: 0, activeMax: 0 };
  while (due.length > 0 || running.length > 0) {
    const nextMs = Math.min(due[0] ?? Number.POSITIVE_INFINITY, ...running.map(({ untilMs }) => untilMs));
    nowMs = Math.max(nowMs + 1, nextMs);
    for (const job of running.filter(({ untilMs }) => untilMs <= nowMs)) {
      running.splice(running.indexOf(job), 1);
      limit.leave('wh_1', job.tookMs);
    }
    if ((due[0] ?? Number.POSITIVE_INFINITY) > nowMs) continue;
    due.shift();
    run.tries += 1;
    const waitMs = limit.tryEnter('wh_1');
    if (waitMs > 0) {
      due.push(nowMs + waitMs);
      due.sort((one, other) => one - other);
    } else {
      const tookMs = receiverMs(nowMs - startMs);
      running.push({ untilMs: nowMs + tookMs, tookMs });
    }
    run.activeMax = Math.max(run.activeMax, running.length);
  }
  return { ...run, endedMs: nowMs - startMs };
}

it('a backlog of a fast webhook is delivered at its pace', () => {
  const run = runBacklog(2000, () => 4);
  expect(run.endedMs).toBeLessThan(15_000);
  expect(run.tries).toBeLessThan(2 * 2000 + 100);
  expect(run.activeMax).toBeLessThanOrEqual(4);
});

it('a backlog of a slow webhook is tried seldom', () => {
  const run = runBacklog(300, () => 5000);
  // Four at a time.
  expect(run.endedMs).toBeLessThan(1.5 * (300 / 4) * 5000);
  expect(run.tries / (run.endedMs / 1000)).toBeLessThan(20);
  expect(run.activeMax).toBeLessThanOrEqual(4);
});

it('a webhook that becomes fast again is delivered to at its new pace within half a minute', () => {
  const run = runBacklog(3000, (atMs) => (atMs < 60_000 ? 5000 : 4));
  expect(run.endedMs).toBeLessThan(60_000 + 30_000 + 20_000);
});
