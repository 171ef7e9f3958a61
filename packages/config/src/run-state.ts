import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** Content of `DATA_DIR/run/standalone.json`: addresses and process ids of a running stack. A store that it did not start has no pid. */
const runStateSchema = z.object({
  api: z.url(),
  links: z.url(),
  /** In any form that REDIS_URL may have. */
  redis: z.string().min(1),
  clickhouse: z.url(),
  pids: z.object({
    supervisor: z.int(),
    http: z.int(),
    writer: z.int(),
    clickhouse: z.int().nullable(),
    redis: z.int().nullable(),
  }),
});
export type RunState = Readonly<z.infer<typeof runStateSchema>>;

function runStateFile(dataDir: string): string {
  return join(dataDir, 'run', 'standalone.json');
}

/** The run state of the stack in `dataDir`; undefined when no stack is running there. */
export function readRunState(dataDir: string): RunState | undefined {
  try {
    return runStateSchema.parse(JSON.parse(readFileSync(runStateFile(dataDir), 'utf8')));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${runStateFile(dataDir)} cannot be read`, { cause: err });
  }
}

/** Writes the run state. The file is replaced atomically, and only its owner can read it, because it contains passwords of the stores. */
export function writeRunState(dataDir: string, state: RunState): void {
  const file = runStateFile(dataDir);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

/** Removes the run state, when the stack has stopped. */
export function removeRunState(dataDir: string): void {
  rmSync(runStateFile(dataDir), { force: true });
}

function queuedJobsFile(dataDir: string): string {
  return join(dataDir, 'run', 'queued-jobs');
}

/** Notes the jobs, in words, that the queue of a stack's own Redis still had when the stack stopped. @param jobs `''` if it had none */
export function noteQueuedJobs(dataDir: string, jobs: string): void {
  if (jobs === '') rmSync(queuedJobsFile(dataDir), { force: true });
  else writeFileSync(queuedJobsFile(dataDir), jobs, { mode: 0o600 });
}

/** What {@link noteQueuedJobs} has noted at the last stop; `''` when there were no jobs. */
export function readQueuedJobs(dataDir: string): string {
  try {
    return readFileSync(queuedJobsFile(dataDir), 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw err;
  }
}
