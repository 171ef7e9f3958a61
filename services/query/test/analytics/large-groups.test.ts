import { formatResourceId } from '@waymark/contract';
import { expect, test } from 'vitest';
import { createResponseBody } from '../../src/analytics/response-body.js';

test('the links of many rows are read in parts, and the rows are in the order of their groups', async () => {
  const linksRead: number[] = [];
  const getMany = async (_workspaceId: string, ids: readonly string[]) => {
    linksRead.push(ids.length);
    return new Map(ids.map((id) => [id, { id, domain: 'acme.com', key: id }]));
  };
  const others = { folders: {}, tags: {}, partners: {}, groups: {}, partnerTags: {} };
  const responseBody = createResponseBody({ links: { getMany }, ...others } as never);
  const groups = Array.from({ length: 260 }, (_, index) => ({ key: [String(index + 1)], numbers: { clicks: 1 } }));
  const rows = await responseBody('ws_1', { grouping: 'top_links', timeline: undefined } as never, groups as never);
  const expected = groups.map(({ key: [number = ''] }) => formatResourceId('link', number));
  expect((rows as { id: string }[]).map(({ id }) => id)).toEqual(expected);
  expect(linksRead).toEqual([250, 10]);
});
