import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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

/** The mark is a file beside the data of Redis, so that a backup or a copy of the data has it as well. */
function emptyQueueMark(dataDir: string): string {
  return join(dataDir, 'redis', 'queue-empty');
}

/** Names and sizes of the files in which Redis keeps its data. They change with every job, also by an older release, which leaves the mark. */
function redisFiles(dataDir: string): string {
  const directory = join(dataDir, 'redis', 'appendonlydir');
  if (!existsSync(directory)) return '';
  const files = readdirSync(directory).sort();
  return files.map((name) => `${name} ${statSync(join(directory, name)).size}\n`).join('');
}

/** Marks the queue of a stack's own Redis as empty. Call it once Redis has ended, and everything that it has stored is on disk. */
export function markQueueEmpty(dataDir: string): void {
  writeFileSync(emptyQueueMark(dataDir), redisFiles(dataDir), { mode: 0o600, flush: true });
}

/** Errors of file systems that cannot write a directory to disk at once, such as network shares. */
const UNSUPPORTED_FSYNC: ReadonlySet<unknown> = new Set(['EINVAL', 'ENOTSUP', 'EBADF']);

/** Removes the mark, before the stores of a stack start. A power failure does not bring it back. */
export function unmarkQueue(dataDir: string): void {
  const file = emptyQueueMark(dataDir);
  if (!existsSync(file)) return;
  rmSync(file);
  const directory = openSync(dirname(file), 'r');
  try {
    fsyncSync(directory);
  } catch (err) {
    if (!UNSUPPORTED_FSYNC.has((err as NodeJS.ErrnoException).code)) throw err;
  } finally {
    closeSync(directory);
  }
}

/**
 * Whether a stack that does not run is known to have no jobs: its last stop has found the queue empty, or it has no Redis of its own. False
 * after a kill, and after a stop by an older release.
 */
export function isQueueKnownEmpty(dataDir: string): boolean {
  // A link to a disk that is not mounted counts as a Redis.
  const hasRedis = lstatSync(dirname(emptyQueueMark(dataDir)), { throwIfNoEntry: false }) !== undefined;
  if (!hasRedis) return true;
  const mark = emptyQueueMark(dataDir);
  return existsSync(mark) && readFileSync(mark, 'utf8') === redisFiles(dataDir);
}
