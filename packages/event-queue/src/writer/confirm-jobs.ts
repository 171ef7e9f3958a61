import type { QueueKind } from '@waymark/event-format';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { jobProgressSchema } from '../queue/job-rows.js';
import { jobKey } from '../queue/keys.js';
import type { WriterJob } from './batch-writer.js';

/** Returns two values for each job: 1 if it exists, and its progress. KEYS the jobs. */
const READ_PROGRESS = `
local answers = {}
for i, key in ipairs(KEYS) do
  answers[2 * i - 1] = redis.call('EXISTS', key)
  answers[2 * i] = redis.call('HGET', key, 'progress') or ''
end
return answers`;

function discardedIn(progress: string): readonly number[] {
  return progress === '' ? [] : (jobProgressSchema.safeParse(JSON.parse(progress)).data?.struck ?? []);
}

/**
 * The jobs that still exist with the same discarded rows. The replicas have them too, so that no failover can change them any more. Without
 * replicas these are all jobs.
 *
 * After a failover a writer may hold a job that only the old master had. The producer has repeated the job's transaction on the new
 * master, where the claims may be different, so that other rows are discarded. The new master hands such a job out again.
 *
 * @throws NotReplicatedError when the replicas have not confirmed
 */
export async function confirmJobs(
  redis: Redis,
  replication: Replication,
  kind: QueueKind,
  jobs: readonly WriterJob[],
): Promise<readonly WriterJob[]> {
  if (!replication.isOn || jobs.length === 0) return jobs;
  const keys = jobs.map(({ id }) => jobKey(kind, id));
  const answers = (await replication.confirmed(() => redis.eval(READ_PROGRESS, keys.length, ...keys))) as unknown[];
  return jobs.filter(({ discarded }, index) => {
    const [exists, progress] = [answers[2 * index], String(answers[2 * index + 1])];
    const now = discardedIn(progress);
    return exists === 1 && now.length === discarded.length && now.every((row) => discarded.includes(row));
  });
}
