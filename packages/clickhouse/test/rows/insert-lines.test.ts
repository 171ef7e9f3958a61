import { createEventId } from '@waymark/contract';
import { EVENT_TABLES } from '@waymark/event-format';
import { aClick, createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertLines } from '../../src/index.js';

const { table, columns } = EVENT_TABLES.click;

describe('inserts of serialized rows', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const urlsOf = async (workspaceId: string) => {
    const result = await database.client.query({
      query: 'SELECT url FROM click_events WHERE workspace_id = {workspaceId:UInt64} ORDER BY url',
      query_params: { workspaceId },
      format: 'JSONEachRow',
    });
    return (await result.json<{ url: string }>()).map(({ url }) => url);
  };

  it('stores every value unchanged, including line breaks and other scripts', async () => {
    const urls = ['https://acme.com/a\nb', 'https://acme.com/"quoted"\\', 'https://acme.com/日本語-🙂'];
    const lines = urls.map((url) => JSON.stringify(aClick({ workspaceId: '7', url }))).join('\n');
    await insertLines(database.client, { table, columns: columns[1], lines });
    expect(await urlsOf('7')).toEqual([...urls].sort());
  });

  it('drops a repeated insert with the same token', async () => {
    const lines = JSON.stringify(aClick({ workspaceId: '8', clickId: createEventId(Date.now()) }));
    for (let time = 0; time < 3; time++) {
      await insertLines(database.client, { table, columns: columns[1], lines, deduplicationToken: 'lines-once' });
    }
    expect(await urlsOf('8')).toHaveLength(1);
  });

  it('refuses invalid table and column names', async () => {
    const insertion = { table: 'click_events; DROP', columns: columns[1], lines: '[]' };
    await expect(insertLines(database.client, insertion)).rejects.toThrow(TypeError);
  });

  it('rejects with the error of ClickHouse when a line is not a row', async () => {
    const insertion = { table, columns: columns[1], lines: '["1"]' };
    await expect(insertLines(database.client, insertion)).rejects.toMatchObject({ code: expect.any(String) });
  });
});
