import { eventsQuerySchema } from '@waymark/contract';
import { expect, it } from 'vitest';
import { nextLink } from '../../src/events/next-link.js';

const linkOf = (city: string) => nextLink(eventsQuerySchema.parse({ city }), 'next');

it('the link to the next page has at most 3000 characters, and only the cursor if it would have more', () => {
  const others = linkOf('x').length - 1;
  const longest = linkOf('x'.repeat(3000 - others));
  expect(longest).toHaveLength(3000);
  expect(longest).toContain('city=xxx');
  expect(linkOf('x'.repeat(3001 - others))).toBe('<?cursor=next>; rel="next"');
});
