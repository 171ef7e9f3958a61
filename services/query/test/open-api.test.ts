import { eventsQuerySchema } from '@waymark/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startQuery, type TestQuery } from './test-query.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery();
});
afterAll(() => query.close());

test('the OpenAPI document names the route, every parameter and the three kinds of items', async () => {
  const document = (await query.app.inject('/openapi.json')).json();
  expect(Object.keys(document.paths)).toEqual(['/events']);
  const { parameters, responses, security } = document.paths['/events'].get;
  expect(parameters.map(({ name }: { name: string }) => name).sort()).toEqual(
    Object.keys(eventsQuerySchema.shape).sort(),
  );
  expect(parameters.every(({ required }: { required?: boolean }) => required !== true)).toBe(true);
  expect(JSON.stringify(responses['200'])).toMatch(/ClickEvent.*LeadEvent.*SaleEvent/);
  expect(security).toHaveLength(1);
});
