import { EXPORT_FILTER_SCHEMAS } from '@waymark/contract';
import { expect, it } from 'vitest';
import { parseFilters } from '../../src/jobs/body-fields.js';

it('a list in the filters of a job is the same as its values separated by commas', async () => {
  const filters = { country: ['US', 'DE'], tagIds: ['tag_1', 'tag_2'], interval: 'all' };
  expect(await parseFilters(EXPORT_FILTER_SCHEMAS.events, filters)).toMatchObject({
    ...{ country: 'US,DE', tagIds: 'tag_1,tag_2', interval: 'all' },
  });
  expect(await parseFilters(EXPORT_FILTER_SCHEMAS.links, { tagNames: ['a', 'b'] })).toMatchObject({ tagNames: 'a,b' });
});

it('a list for a filter that takes one value is refused', async () => {
  const parsing = parseFilters(EXPORT_FILTER_SCHEMAS.events, { event: ['leads', 'clicks'] });
  await expect(parsing).rejects.toMatchObject({ status: 422, message: expect.stringContaining('filters.event') });
});
