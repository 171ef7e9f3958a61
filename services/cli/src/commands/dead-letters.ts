import { listDeadLetters, replayDeadLetters } from '@waymark/event-queue';
import { CommandError } from '../command-error.js';
import { type RawOption, rowLimit } from '../option-values.js';
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
    const counts = await Promise.all(queues.map((redis) => replayDeadLetters(redis, ids.length === 0 ? {} : { ids })));
    const replayed = counts.reduce((sum, count) => sum + count, 0);
    if (ids.length > 0 && replayed === 0) throw new CommandError('no such dead letter; see: waymark dead-letters list');
    return { data: { replayed }, lines: [`${replayed} put back into the queue`] };
  });
}
