import type { QueueKind } from '@waymark/event-format';
import type { Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { jobProgressSchema } from '../queue/job-rows.js';
import { jobKey } from '../queue/keys.js';
import type { WriterJob } from './batch-writer.js';

/** Of each job whether it exists (1) and its progress, in turn. KEYS the jobs. */
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
 * The jobs that no failover can change any more: they are on the replicas, with the same discarded rows.
 *
 * A writer may hold a job that only a server had which has lost its place since. Its transaction was repeated on the next server, where
 * claims may have decided otherwise: other rows are discarded there. The queue of that server hands the job out again.
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
