import { expect, it } from 'vitest';
import { createConcurrencyLimit, SLOTS } from '../../src/delivery/concurrency-limit.js';

interface Run {
  readonly endedMs: number;
  readonly tries: number;
  readonly activeMax: number;
}

/** Runs a backlog of one workspace, with a clock of its own; a job takes as long as the receiver needs. */
function runBacklog(
  jobs: number,
  receiverMs: (atMs: number) => number,
  { webhooks = 1, untilMs = Infinity } = {},
): Run {
  let nowMs = 1_000_000;
  const startMs = nowMs;
  const limit = createConcurrencyLimit(() => nowMs);
  const ownerOf = (job: number) => ({ workspaceId: 'ws_1', webhookId: `wh_${job % webhooks}` });
  let due = Array.from({ length: jobs }, (_, job) => ({ job, atMs: nowMs }));
  let running: { readonly job: number; readonly untilMs: number; readonly tookMs: number }[] = [];
  const run = { tries: 0, activeMax: 0 };
  const tryJob = (job: number) => {
    run.tries += 1;
    const waitMs = limit.tryEnter(ownerOf(job));
    if (waitMs > 0) return due.push({ job, atMs: nowMs + waitMs });
    const tookMs = receiverMs(nowMs - startMs);
    return running.push({ job, untilMs: nowMs + tookMs, tookMs });
  };
  while ((due.length > 0 || running.length > 0) && nowMs - startMs < untilMs) {
    const nextMs = [...due.map(({ atMs }) => atMs), ...running.map((job) => job.untilMs)].reduce((a, b) =>
      Math.min(a, b),
    );
    nowMs = Math.max(nowMs, nextMs);
    for (const { job, tookMs } of running.filter((one) => one.untilMs <= nowMs)) limit.leave(ownerOf(job), tookMs);
    running = running.filter((one) => one.untilMs > nowMs);
    const tries = due.filter(({ atMs }) => atMs <= nowMs);
    due = due.filter(({ atMs }) => atMs > nowMs);
    for (const { job } of tries) tryJob(job);
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
  expect(run.tries / (run.endedMs / 1000)).toBeLessThan(30);
  expect(run.activeMax).toBeLessThanOrEqual(4);
});

it('a webhook that becomes fast again is delivered to at its new pace within half a minute', () => {
  const run = runBacklog(1000, (atMs) => (atMs < 60_000 ? 5000 : 4));
  expect(run.endedMs).toBeLessThan(60_000 + 30_000 + 20_000);
});

it('a long backlog of a slow workspace is not tried more often than one webhook that is fast, 200 times a second', () => {
  const jobs = 3000;
  const run = runBacklog(jobs, () => 9500, { webhooks: 16, untilMs: 60_000 });
  expect((run.tries - jobs) / (run.endedMs / 1000)).toBeLessThan(220);
  expect(run.activeMax).toBe(SLOTS / 2);
});

const jobOf = (workspace: number, webhook: number) => ({
  workspaceId: `ws_${workspace}`,
  webhookId: `wh_${workspace}_${webhook}`,
});

/** Takes as many slots for a workspace as it gets, whatever the limit of a webhook. @returns how many */
function takeSlots(limit: ReturnType<typeof createConcurrencyLimit>, workspace: number): number {
  let slots = 0;
  while (limit.tryEnter(jobOf(workspace, slots)) === 0) slots += 1;
  return slots;
}

it('a workspace holds half of the slots at most, and leaves slots to those that come later', () => {
  const limit = createConcurrencyLimit(() => 0);
  expect([1, 2, 3, 4, 5, 6, 7].map((workspace) => takeSlots(limit, workspace))).toEqual([32, 16, 8, 4, 2, 1, 1]);
});

it('slots that become free go to the workspaces that hold fewer, until all hold as many', () => {
  const limit = createConcurrencyLimit(() => 0);
  const held = [1, 2, 3].map((workspace) => ({ workspace, slots: takeSlots(limit, workspace) }));
  for (let job = 0; job < 500; job++) {
    const one = held[job % held.length] as (typeof held)[number];
    one.slots -= 1;
    limit.leave(jobOf(one.workspace, one.slots), 9500);
    for (const other of held) {
      while (limit.tryEnter(jobOf(other.workspace, other.slots)) === 0) other.slots += 1;
    }
  }
  expect(held.map(({ slots }) => slots)).toEqual([17, 16, 16]);
});

it('the pace of a webhook is kept while it has jobs, and evicted when it has none', () => {
  const limit = createConcurrencyLimit(() => 0);
  const enter = (tries: number) => Array.from({ length: tries }, () => limit.tryEnter(jobOf(1, 1)));
  expect(enter(2)).toEqual([0, 0]);
  limit.leave(jobOf(1, 1), 8000);
  expect(enter(4)).toEqual([0, 0, 0, 2000]);
  const other = createConcurrencyLimit(() => 0);
  other.tryEnter(jobOf(1, 1));
  other.leave(jobOf(1, 1), 8000);
  expect([1, 2, 3, 4, 5].map(() => other.tryEnter(jobOf(1, 1)))).toEqual([0, 0, 0, 0, 50]);
});

it('a job that may not run is postponed, at intervals, while slots are free', () => {
  const limit = createConcurrencyLimit(() => 0);
  const owner = { workspaceId: 'ws_1', webhookId: 'wh_1' };
  const [first = 0, second = 0] = [limit.tryEnter(owner, false), limit.tryEnter(owner, false)];
  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThan(first);
  expect(limit.tryEnter(owner)).toBe(0);
});
