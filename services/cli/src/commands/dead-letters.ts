import { listDeadLetters, replayDeadLetters } from '@waymark/event-queue';
import type { Redis } from 'ioredis';
import { CommandError } from '../command-error.js';
import { optionalText, type RawOption } from '../option-values.js';
import { type CommandResult, table } from '../output.js';
import { connectRedis, findTarget } from '../stores.js';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 10_000;

async function withRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = connectRedis(findTarget());
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

export interface ListOptions {
  readonly limit?: RawOption;
}

export function showDeadLetters(options: ListOptions): Promise<CommandResult> {
  const limit = Number(optionalText('limit', options.limit) ?? LIMIT_DEFAULT);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new CommandError(`--limit must be a whole number up to ${LIMIT_MAX}`);
  }
  return withRedis(async (redis) => {
    const { total, letters } = await listDeadLetters(redis, { limit });
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

/** Requeues all dead letters, or those with the given ids. */
export function replayLetters(ids: readonly string[]): Promise<CommandResult> {
  return withRedis(async (redis) => {
    const replayed = await replayDeadLetters(redis, ids.length === 0 ? {} : { ids });
    if (ids.length > 0 && replayed === 0) throw new CommandError('no such dead letter; see: waymark dead-letters list');
    return { data: { replayed }, lines: [`${replayed} put back into the queue`] };
  });
}
