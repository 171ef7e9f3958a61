import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** What `DATA_DIR/run/standalone.json` says about a stack that is up. A store that is not its own has no pid. */
export const runStateSchema = z.object({
  api: z.url(),
  links: z.url(),
  redis: z.url(),
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

/** Where the stack of `dataDir` is reached; undefined when none says it is up. */
export function readRunState(dataDir: string): RunState | undefined {
  try {
    return runStateSchema.parse(JSON.parse(readFileSync(runStateFile(dataDir), 'utf8')));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${runStateFile(dataDir)} cannot be read`, { cause: err });
  }
}

/** Replaces the file in one step: a reader never sees half of it. It holds the passwords of the stores, so it is private. */
export function writeRunState(dataDir: string, state: RunState): void {
  const file = runStateFile(dataDir);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

export function removeRunState(dataDir: string): void {
  rmSync(runStateFile(dataDir), { force: true });
}
