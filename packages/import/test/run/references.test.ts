import { ApiError } from '@waymark/contract';
import type { LinkAuthor, LinkRuleDeps } from '@waymark/link-rules';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Lost } from '../../src/model/source-link.js';
import { knownReferences } from '../../src/run/accepted-fields.js';
import { createReferencedResources } from '../../src/run/referenced-resources.js';

it('a tag that is refused is made a minute later if the quota allows it by then, and looked up once in between', async () => {
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  let isAllowed = false;
  let requests = 0;
  const tags = {
    findByName: async () => undefined,
    async create() {
      requests++;
      if (isAllowed) return { id: 'tag_1' };
      throw new ApiError('forbidden', 'The quota of tags is used up.');
    },
  };
  const resources = createReferencedResources(
    { catalog: { tags }, defaultDomain: undefined } as unknown as LinkRuleDeps,
    { workspace: { id: 'ws_1', plan: 'pro' }, apiKey: { role: 'owner', scopes: [] } } as unknown as LinkAuthor,
    false,
  );
  const tag = () => resources.tag({ name: 'red' });
  await expect(tag()).rejects.toThrow('used up');
  isAllowed = true;
  nowMs = 59_000;
  await expect(tag()).rejects.toThrow('used up');
  expect(requests).toBe(1);
  nowMs = 61_000;
  expect([await tag(), await tag(), requests]).toEqual(['tag_1', 'tag_1', 2]);
});

it('a deleted tag and folder are listed as lost once, also if the update of the link is repeated', () => {
  const lost: Lost[] = [];
  const names = new Map(Object.entries({ tag_1: 'red', tag_2: 'blue', fold_1: 'Campaigns' }));
  const body = { url: 'https://a.test', tagIds: ['tag_1', 'tag_2'], folderId: 'fold_1' };
  const references = { tagIds: new Set(['tag_2']), folders: new Map() };
  for (let times = 0; times < 2; times++)
    expect(knownReferences({ body, names, lost }, references)).toEqual({ url: 'https://a.test', tagIds: ['tag_2'] });
  const reason = 'was deleted during the import';
  expect(lost).toEqual([
    { field: 'tags', value: 'red', reason },
    { field: 'folder', value: 'Campaigns', reason },
  ]);
});
