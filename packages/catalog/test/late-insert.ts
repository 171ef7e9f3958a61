import { UnknownOutcomeError } from '@waymark/clickhouse';
import type { TestStores } from '@waymark/test-kit';
import { expect } from 'vitest';

/**
 * Runs `work` while the first insert of links is held back and its answer is lost, and removes the locks that `work` has left.
 *
 * @returns the function that carries the insert out
 */
export async function withLateInsert(
  stores: TestStores,
  work: () => Promise<unknown>,
): Promise<() => Promise<unknown>> {
  const { client } = stores.database;
  const insert = client.insert.bind(client);
  let late: (() => Promise<unknown>) | undefined;
  client.insert = ((params: Parameters<typeof insert>[0]) => {
    if (params.table !== 'links' || late !== undefined) return insert(params);
    late = () => insert(params);
    return Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
  }) as typeof client.insert;
  await expect(work()).rejects.toBeInstanceOf(UnknownOutcomeError);
  client.insert = insert;
  await stores.client.del(...(await stores.client.keys('*waymark:lock:*')));
  return async () => late?.();
}
