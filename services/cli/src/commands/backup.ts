import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type KeyMarks, partialRestore, type RunState, writeRestoredMark } from '@waymark/config';
import { z } from 'zod';
import {
  BACKUP_ENTRIES,
  copyData,
  type DataEntry,
  hasData,
  linkAhead,
  linkData,
  listData,
} from '../backup/data-files.js';
import { backupMarks, checkInstanceKey, keyLines } from '../backup/instance-key.js';
import { whilePaused } from '../backup/while-paused.js';
import { CommandError } from '../command-error.js';
import { draftOf, soleDraftOf } from '../drafts.js';
import { interruptible } from '../interruptible.js';
import { optionalText, type RawOption } from '../option-values.js';
import { type CommandResult, megabytes } from '../output.js';
import { rejectStack, rejectStartingStack } from '../stack-lock.js';
import { findTarget, type Target } from '../stores.js';

/** Written last: a directory without it is an incomplete backup. */
const MANIFEST = 'backup.json';
const manifestSchema = z.object({
  version: z.literal(1),
  startedAt: z.iso.datetime(),
  /** Absent in backups of earlier releases. */
  content: z.object({ files: z.int(), bytes: z.int() }).optional(),
  /** Marks of the instance keys; absent in backups of earlier releases, and when the keys were uncertain. */
  keys: z.object({ current: z.string(), accepted: z.array(z.string()).readonly() }).optional(),
});
type Content = z.infer<typeof manifestSchema>['content'];

function contentOf(entries: readonly DataEntry[]): NonNullable<Content> {
  const sizes = entries.flatMap((entry) => (entry.type === 'file' ? entry.bytes : []));
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** @throws CommandError when files of the backup are missing or shortened */
function checkContent(from: string, entries: readonly DataEntry[], expected: Content): void {
  const found = contentOf(entries);
  if (expected === undefined || (found.files === expected.files && found.bytes === expected.bytes)) return;
  const text = ({ files, bytes }: NonNullable<Content>) => `${files} files with ${bytes} bytes`;
  throw new CommandError(`${from} is damaged: it has ${text(found)}, and had ${text(expected)} when it was created`);
}

/** @throws CommandError when the file is cut off or changed */
function readManifest(from: string): z.infer<typeof manifestSchema> {
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(join(from, MANIFEST), 'utf8')));
  } catch {
    throw new CommandError(`${from} is damaged: ${MANIFEST} is not what a backup has written`);
  }
}

function directoryArgument(value: RawOption): string {
  const text = optionalText('directory', value);
  if (text === undefined) throw new CommandError('the directory is missing');
  return resolve(text);
}

function rejectExternalStores({ settings }: Target): void {
  if (settings.redisUrl === undefined && settings.clickhouseUrl === undefined) return;
  throw new CommandError(
    'REDIS_URL or CLICKHOUSE_URL is set, but this command copies only embedded stores; for servers see docs/production.md',
  );
}

/** The processes in the order in which to pause them: the stores last, so that they contain all that was acknowledged. */
function pidsOf({ pids }: RunState): number[] {
  return [pids.http, pids.writer, pids.redis, pids.clickhouse].filter((pid) => pid !== null);
}

interface Copied {
  readonly bytes: number;
  /** Undefined when no stack was running. */
  readonly pausedMs: number | undefined;
}

/** Links the files, pauses the stack, links those that have changed since, resumes the stack, then copies the linked files. */
async function copyRunning(dataDir: string, stack: RunState, to: string, signal: AbortSignal): Promise<Copied> {
  const stage = draftOf(join(dataDir, 'run', 'backup'));
  try {
    const ahead = linkAhead(dataDir, stage);
    const { result, pausedMs } = await whilePaused(pidsOf(stack), () => linkData(dataDir, stage, ahead));
    return { bytes: await copyData(result, stage, to, signal), pausedMs };
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Copies the files of a stopped stack. @throws CommandError when a stack starts meanwhile */
async function copyStopped(dataDir: string, to: string, signal: AbortSignal): Promise<Copied> {
  rejectStartingStack(dataDir);
  const entries: DataEntry[] = listData(dataDir);
  const bytes = await copyData(entries, dataDir, to, signal);
  rejectStartingStack(dataDir);
  return { bytes, pausedMs: undefined };
}

/** `waymark backup`: backs up DATA_DIR. Its stack may be running. */
export async function backUp(directory: RawOption): Promise<CommandResult> {
  const target = findTarget();
  const { dataDir } = target.settings;
  const to = directoryArgument(directory);
  rejectExternalStores(target);
  if (existsSync(to)) throw new CommandError(`${to} already exists`);
  if (!hasData(dataDir))
    throw new CommandError(`${dataDir} contains nothing to back up: is DATA_DIR another directory?`);
  const partial = partialRestore(dataDir);
  if (partial !== undefined) throw new CommandError(partial);

  const startedAt = new Date().toISOString();
  const draft = draftOf(to);
  let copied: Copied;
  let keys: KeyMarks | undefined;
  try {
    keys = await backupMarks(target);
    mkdirSync(dirname(to), { recursive: true });
    copied = await interruptible('interrupted, there is no backup', (signal) =>
      target.stack === undefined
        ? copyStopped(dataDir, draft, signal)
        : copyRunning(dataDir, target.stack, draft, signal),
    );
    const content = contentOf(listData(draft));
    const manifest: z.input<typeof manifestSchema> = { version: 1, startedAt, content, keys };
    const note = JSON.stringify(manifest);
    writeFileSync(join(draft, MANIFEST), `${note}\n`, { mode: 0o600, flush: true });
    renameSync(draft, to);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const { bytes, pausedMs } = copied;
  const pause = pausedMs === undefined ? 'nothing was running' : `paused for ${Math.ceil(pausedMs)} ms`;
  return {
    data: { directory: to, startedAt, bytes, pausedMs: pausedMs ?? null },
    lines: [`${to}: ${megabytes(bytes)} of ${dataDir}; ${pause}`, ...keyLines(target.settings, to, keys)],
  };
}

/** `waymark restore`: restores a backup into DATA_DIR, which must not contain data. */
export async function restore(
  directory: RawOption,
  { withoutInstanceKey }: { readonly withoutInstanceKey?: boolean },
): Promise<CommandResult> {
  const target = findTarget();
  const { dataDir, instanceKey } = target.settings;
  const from = directoryArgument(directory);
  rejectExternalStores(target);
  rejectStack(dataDir, target.stack);
  if (hasData(dataDir))
    throw new CommandError(`${dataDir} already contains data: move it away, or set another DATA_DIR`);
  if (!existsSync(join(from, MANIFEST)))
    throw new CommandError(`${from} is not a complete backup: ${MANIFEST} is missing`);
  const { startedAt, content, keys } = readManifest(from);
  const entries = listData(from);
  checkContent(from, entries, content);
  if (withoutInstanceKey !== true) checkInstanceKey(target.settings, from, keys);

  const draft = soleDraftOf(join(dataDir, 'restoring'));
  let bytes: number;
  try {
    bytes = await interruptible('interrupted, nothing is restored', (signal) => copyData(entries, from, draft, signal));
    // No stack starts with this mark, because this process may be killed between two parts.
    writeRestoredMark(dataDir, { backupAt: startedAt, isPartial: true });
    for (const name of BACKUP_ENTRIES) {
      if (entries.some(({ path }) => path === name)) renameSync(join(draft, name), join(dataDir, name));
    }
    writeRestoredMark(dataDir, { backupAt: startedAt });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return {
    data: { dataDir, startedAt, bytes },
    lines: [
      `${dataDir} restored to ${startedAt}; start it with npm run up${instanceKey === undefined ? '' : ', with the same INSTANCE_KEY'}`,
      'export schedules will be disabled until their owners enable them, so that they overwrite nothing: see docs/runbooks/restoring.md',
      'people who were erased since then are in it: npx waymark erasure replay <file>, see docs/privacy.md',
    ],
  };
}
