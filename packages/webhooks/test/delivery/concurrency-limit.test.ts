import { expect, it } from 'vitest';
import { createConcurrencyLimit } from '../../src/delivery/concurrency-limit.js';

interface Run {
  readonly endedMs: number;
  readonly tries: number;
  readonly activeMax: number;
}

/** Runs a backlog of one webhook, with a clock of its own; a job takes as long as the receiver needs. */
function runBacklog(jobs: number, receiverMs: (atMs: number) => number): Run {
  let nowMs = 1_000_000;
  const startMs = nowMs;
  const limit = createConcurrencyLimit(() => nowMs);
  let due = Array.from({ length: jobs }, () => nowMs);
  let running: { readonly untilMs: number; readonly tookMs: number }[] = [];
  const run = { endedMs: 0, tries: 0, activeMax: 0 };
  const tryJob = () => {
    run.tries += 1;
    const waitMs = limit.tryEnter('wh_1');
    if (waitMs > 0) return due.push(nowMs + waitMs);
    const tookMs = receiverMs(nowMs - startMs);
    return running.push({ untilMs: nowMs + tookMs, tookMs });
  };
  while (due.length > 0 || running.length > 0) {
    nowMs = Math.max(nowMs, Math.min(...due, ...running.map(({ untilMs }) => untilMs)));
    for (const { tookMs } of running.filter(({ untilMs }) => untilMs <= nowMs)) limit.leave('wh_1', tookMs);
    running = running.filter(({ untilMs }) => untilMs > nowMs);
    const tries = due.filter((atMs) => atMs <= nowMs).length;
    due = due.filter((atMs) => atMs > nowMs);
    for (let index = 0; index < tries; index++) tryJob();
    run.activeMax = Math.max(run.activeMax, running.length);
  }
  return { ...run, endedMs: nowMs - startMs };
}

it('a backlog of a fast webhook is delivered at its pace', () => {
  const run = runBacklog(1000, () => 4);
  expect(run.endedMs).toBeLessThan(8_000);
  expect(run.tries).toBeLessThan(2 * 1000 + 100);
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
  const run = runBacklog(1000, (atMs) => (atMs < 60_000 ? 5000 : 4));
  expect(run.endedMs).toBeLessThan(60_000 + 30_000 + 20_000);
});
