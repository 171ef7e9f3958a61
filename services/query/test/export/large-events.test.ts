import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, startQuery, type TestQuery } from '../test-query.js';
import { exported } from './exported.js';

/** A hundred of the large clicks fit in a result of this size, and three hundred do not. */
const RESULT_BYTES_MAX = 1_000_000;
const LARGE_CHARS = 5000;

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery(undefined, {
    async clickhouseFor({ client }) {
      const lazyRows: typeof client.lazyRows = (read) =>
        client.lazyRows({ ...read, settings: { ...read.settings, max_result_bytes: RESULT_BYTES_MAX } });
      return Object.assign(Object.create(client) as typeof client, { lazyRows });
    },
  });
  await query.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => query.close());

test('large events after many small ones are read in pages that ClickHouse accepts', async () => {
  const workspace = await aWorkspace(query);
  const link = await workspace.aLink({ key: 'a' });
  const url = `https://acme.com/?${'x'.repeat(LARGE_CHARS)}`;
  const small = Array.from({ length: 150 }, () => workspace.click(link, 1));
  const large = Array.from({ length: 300 }, () => workspace.click(link, 2, { url }));
  await workspace.store({ clicks: [...small, ...large] });
  const { text, trailers } = await exported(workspace, { format: 'ndjson' });
  expect(new Set(text.trimEnd().split('\n')).size).toBe(450);
  expect(trailers['x-export-rows']).toBe('450');
});
