import { formatResourceId, parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAnswerOf } from '../../src/analytics/response-body.js';
import { aWorkspace, startQuery, type TestQuery } from '../test-query.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery();
});
afterAll(() => query.close());

test('the links of many rows are read in parts, and the rows are in the order of their groups', async () => {
  const linksRead: number[] = [];
  const getMany = async (_workspaceId: string, ids: readonly string[]) => {
    linksRead.push(ids.length);
    return new Map(ids.map((id) => [id, { id, domain: 'acme.com', key: id }]));
  };
  const others = { folders: {}, tags: {}, partners: {}, groups: {}, partnerTags: {} };
  const hiddenFolders = {
    visible: async (_workspaceId: string, _visibility: unknown, links: readonly object[]) => links,
  };
  const answerOf = createAnswerOf({ links: { getMany }, hiddenFolders, ...others } as never);
  const groups = Array.from({ length: 260 }, (_, index) => ({ key: [String(index + 1)], numbers: { clicks: 1 } }));
  const caller = { workspaceId: 'ws_1', visibility: { hidesFolders: false, hidesPasswords: false } };
  const answer = answerOf(caller, { grouping: 'top_links', timeline: undefined } as never, groups as never);
  const rows: object[] = [];
  for await (const part of 'rows' in answer ? answer.rows : []) rows.push(...part);
  const expected = groups.map(({ key: [number = ''] }) => formatResourceId('link', number));
  expect((rows as { id: string }[]).map(({ id }) => id)).toEqual(expected);
  expect(linksRead).toEqual([250, 10]);
});

test('of URLs that are too long for an answer together, the thousand with the most clicks are counted', async () => {
  const workspace = await aWorkspace(query);
  const link = await workspace.aLink({ key: 'a' });
  const url = (index: number) => `https://acme.com/?${index}&${'x'.repeat(24_000)}`;
  const clicks = Array.from({ length: 1800 }, (_, index) => workspace.click(link, index, { url: url(index) }));
  await workspace.store({ clicks: [...clicks, workspace.click(link, 0, { url: url(1799) })] });
  const { status, body } = await workspace.analytics({ groupBy: 'top_urls', interval: 'all' });
  expect([status, body]).toEqual([200, expect.objectContaining({ length: 1000 })]);
  expect((body as unknown as object[])[0]).toMatchObject({ url: url(1799), clicks: 2 });
}, 60_000);

test('a link and a folder that were hidden after they were counted have no row', async () => {
  const workspace = await aWorkspace(query);
  const { folders } = query.catalog;
  const folder = await folders.create(workspace.id, { name: 'Plans', accessLevel: null });
  const [hidden, shown] = [
    await workspace.aLink({ key: 'a', folderId: folder.id }),
    await workspace.aLink({ key: 'b' }),
  ];
  const groupsOf = (kind: 'link' | 'folder', ids: readonly string[]) =>
    ids.map((id) => ({ key: [parseResourceId(kind, id)], numbers: { clicks: 1 } }));
  const answerOf = createAnswerOf(query.catalog);
  const rowsFor = async (hidesFolders: boolean, grouping: string, ...ids: string[]) => {
    const caller = { workspaceId: workspace.id, visibility: { hidesFolders, hidesPasswords: false } };
    const answer = answerOf(
      caller,
      { grouping, timeline: undefined } as never,
      groupsOf(grouping === 'top_links' ? 'link' : 'folder', ids) as never,
    );
    const rows: object[] = [];
    for await (const part of 'rows' in answer ? answer.rows : []) rows.push(...part);
    return rows;
  };
  expect(await rowsFor(true, 'top_links', hidden.id, shown.id)).toMatchObject([{ id: shown.id }]);
  expect(await rowsFor(false, 'top_links', hidden.id, shown.id)).toHaveLength(2);
  expect(await rowsFor(true, 'top_folders', folder.id)).toEqual([]);
  expect(await rowsFor(false, 'top_folders', folder.id)).toMatchObject([{ folderId: folder.id }]);
});
