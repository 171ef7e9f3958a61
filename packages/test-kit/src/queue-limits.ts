/** Runs a task of an owner in a queue. */
type RunInQueue = (owner: string, task: () => Promise<void>) => Promise<unknown>;

/** What a queue does with tasks that do not end. */
export interface QueueLimits {
  /** Tasks of one owner that run. */
  readonly runningOfOne: number;
  readonly running: number;
  /** Tasks of one owner that wait. */
  readonly waitingOfOne: number;
  readonly waiting: number;
  /** How many waiting tasks are refused a millisecond before the longest time that a task may wait, and how many after it. */
  readonly refused: readonly [before: number, after: number];
}

/** Lets everything run that does not wait for a timer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Fills a queue with tasks that do not end, and finds its limits.
 *
 * @param run a queue that no other test uses, because the tasks go on
 * @param advance advances the fake timers by some milliseconds
 * @param waitMs the longest time that a task may wait
 */
export async function findQueueLimits(
  run: RunInQueue,
  advance: (ms: number) => void,
  waitMs: number,
): Promise<QueueLimits> {
  let running = 0;
  let refused = 0;
  let sent = 0;
  const send = (owner: string) => {
    sent += 1;
    const task = () => {
      running += 1;
      return new Promise<void>(() => undefined);
    };
    run(owner, task).catch(() => {
      refused += 1;
    });
  };
  for (let task = 0; task < 200; task++) send('0001');
  await settle();
  const runningOfOne = running;
  const waitingOfOne = sent - running - refused;
  for (let owner = 2; owner < 1000; owner++) send(String(owner).padStart(4, '0'));
  await settle();
  const [runningOfAll, waiting, refusedAtOnce] = [running, sent - running - refused, refused];
  advance(waitMs - 1);
  await settle();
  const before = refused - refusedAtOnce;
  advance(1);
  await settle();
  return { runningOfOne, running: runningOfAll, waitingOfOne, waiting, refused: [before, refused - refusedAtOnce] };
}
