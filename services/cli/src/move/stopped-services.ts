import { isQueueKnownEmpty, readRestoredMark } from '@waymark/config';
import { queuedEvents } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { CommandError } from '../command-error.js';
import { runningServices } from '../running-services.js';
import { rejectKilledStack, rejectStartingStack } from '../stack-lock.js';
import { type Target, withQueues } from '../stores.js';

/** @throws CommandError while a service of the installation runs */
async function rejectRunningServices(redis: Redis): Promise<void> {
  const running = await runningServices(redis);
  if (running.length === 0) return;
  const names = running.map(({ service, instance }) => `${service} (${instance})`).join(', ');
  throw new CommandError(
    `still running: ${names}. Stop every service, then move; one that was killed counts as running for 10 s`,
  );
}

/**
 * A writer that was killed may have inserted the rows of a job without removing the job. It would repeat the insert at the target of the
 * move, where the token of the first insert is missing, so the rows would be stored twice.
 *
 * @throws CommandError when the queue has jobs
 */
async function rejectQueuedJobs(redis: Redis): Promise<void> {
  const queued = await queuedEvents(redis);
  if (queued === '') return;
  throw new CommandError(
    `the queue still has jobs (${queued}): start the writer, wait until \`npx waymark status\` shows an empty queue, and stop it`,
  );
}

/**
 * The same check for a stack whose own Redis does not run: the last stop has marked its queue as empty if it was. A backup of a running stack
 * may contain such a job as well.
 *
 * @throws CommandError when its queue has jobs, or may have them
 */
function rejectJobsOfStoppedStack(dataDir: string): void {
  const isRestored = readRestoredMark(dataDir) !== undefined;
  if (!isRestored && isQueueKnownEmpty(dataDir)) return;
  const reason = isRestored
    ? 'they were restored from a backup'
    : 'the last stop left jobs in the queue, could not count them, or was done by an older release';
  throw new CommandError(
    `the stores in ${dataDir} may have inserts that are not finished (${reason}): start it with npm run up or systemctl start waymark, wait until \`npx waymark status\` shows an empty queue, and stop it`,
  );
}

/** @throws CommandError when anything but the stores runs, because data that is written during a move would be lost */
export async function assertServicesStopped(target: Target): Promise<void> {
  const { dataDir, redisUrl } = target.settings;
  if (target.stack !== undefined)
    throw new CommandError(
      `a stack is running on ${dataDir}: stop it first (Ctrl-C, or systemctl disable --now waymark); the move starts the store alone`,
    );
  rejectStartingStack(dataDir);
  rejectKilledStack(dataDir);
  if (redisUrl === undefined) return rejectJobsOfStoppedStack(dataDir);
  await withQueues(target, async (queues) => {
    await rejectRunningServices(queues[0]);
    for (const queue of queues) await rejectQueuedJobs(queue);
  });
}
