import { type FileHandle, open, rm } from 'node:fs/promises';
import { discardDeadLetters, listDeadLetters, type RawLetter, replayDeadLetters } from '@waymark/event-queue';
import { CommandError } from '../command-error.js';
import { type RawOption, requiredText, rowLimit } from '../option-values.js';
import { type CommandResult, table } from '../output.js';
import { findTarget, withQueues } from '../stores.js';

export interface ListOptions {
  readonly limit?: RawOption;
}

/** `waymark dead-letters list`: lists the dead letters of all queue shards, oldest first. */
export function showDeadLetters(options: ListOptions): Promise<CommandResult> {
  const limit = rowLimit(options.limit);
  return withQueues(findTarget(), async (queues) => {
    const lists = await Promise.all(queues.map((redis) => listDeadLetters(redis, { limit })));
    const total = lists.reduce((sum, list) => sum + list.total, 0);
    const letters = lists
      .flatMap((list) => list.letters)
      .sort((one, other) => one.at - other.at)
      .slice(0, limit);
    const rows = letters.map(({ id, kind, at, error }) => [
      id,
      kind,
      new Date(at).toISOString(),
      error.split('\n')[0] ?? '',
    ]);
    return {
      data: {
        total,
        letters: letters.map(({ id, kind, at, error, row }) => ({
          id,
          kind,
          at: new Date(at).toISOString(),
          error,
          row,
        })),
      },
      lines: [...table([['ID', 'KIND', 'PARKED', 'ERROR'], ...rows]), `${letters.length} of ${total}`],
    };
  });
}

/** `waymark dead-letters replay`: queues dead letters again, all of them or those with the given ids. */
export function replayLetters(ids: readonly string[]): Promise<CommandResult> {
  return withQueues(findTarget(), async (queues) => {
    const counts = await Promise.all(
      queues.map((redis) => replayDeadLetters(redis, ids.length === 0 ? undefined : ids)),
    );
    const replayed = counts.reduce((sum, count) => sum + count, 0);
    if (ids.length > 0 && replayed === 0) throw new CommandError('no such dead letter; see: waymark dead-letters list');
    return { data: { replayed }, lines: [`${replayed} put back into the queue`] };
  });
}

export interface DiscardOptions {
  readonly all?: boolean;
  readonly output?: RawOption;
}

/** What a discarded letter says; of one of another release as much as can be read. */
function contentOf({ id, data }: RawLetter): Record<string, unknown> {
  try {
    return { id, ...(JSON.parse(data) as object) };
  } catch {
    return { id, data };
  }
}

/** Appends letters to the file, and waits until the disk has them. */
async function store(file: FileHandle, letters: readonly RawLetter[]): Promise<void> {
  await file.appendFile(letters.map((letter) => `${JSON.stringify(contentOf(letter))}\n`).join(''));
  await file.sync();
}

/**
 * `waymark dead-letters discard`: removes dead letters with the given ids, or with --all every one, once a new file has their rows. Without
 * any rows there is no file, so that a corrected command can be given the same one.
 */
export async function discardLetters(ids: readonly string[], options: DiscardOptions): Promise<CommandResult> {
  if ((options.all === true) === ids.length > 0)
    throw new CommandError('name the ids of dead letters, or all with --all');
  const path = requiredText('output', options.output);
  const file = await open(path, 'wx', 0o600).catch((err: unknown) => {
    throw new CommandError(`--output must be a new file: ${(err as Error).message}`);
  });
  let isEmpty = true;
  try {
    return await withQueues(findTarget(), async (queues) => {
      const keep = (letters: readonly RawLetter[]) => {
        isEmpty = false;
        return store(file, letters);
      };
      let discarded = 0;
      for (const redis of queues) {
        discarded += await discardDeadLetters(redis, options.all ? undefined : ids, keep);
      }
      if (ids.length > 0 && discarded === 0) {
        throw new CommandError('no such dead letter; see: waymark dead-letters list');
      }
      if (isEmpty) return { data: { discarded, file: null }, lines: ['there are no dead letters'] };
      return { data: { discarded, file: path }, lines: [`${discarded} discarded; ${path} has their rows`] };
    });
  } finally {
    await file.close();
    if (isEmpty) await rm(path, { force: true });
  }
}
