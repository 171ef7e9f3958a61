import { expect, test } from 'vitest';
import { aWorkspace, NOW, startQuery } from '../test-query.js';

test('with retention, analytics counts the stored events and not the totals of links', async () => {
  const query = await startQuery(() => NOW, { eventsExpire: true });
  try {
    const workspace = await aWorkspace(query);
    const link = await workspace.aLink({ key: 'old' });
    await workspace.store({ clicks: [workspace.click(link, 1), workspace.click(link, 60 * 24 * 400)] });
    await query.database.client.command({
      query: 'DELETE FROM click_events WHERE timestamp < {limit:DateTime64(3)}',
      query_params: { limit: (NOW - 365 * 86_400_000) / 1000 },
    });
    const count = async (parameters: Record<string, string>) =>
      (await workspace.analytics({ interval: 'all', ...parameters })).body;
    expect(await count({ linkId: link.id })).toMatchObject({ clicks: 1 });
    expect(await count({ linkId: link.id, groupBy: 'countries' })).toMatchObject([{ clicks: 1 }]);
    expect(await count({ groupBy: 'top_links' })).toMatchObject([{ id: link.id, clicks: 1 }]);
  } finally {
    await query.close();
  }
});
