import { analyticsQuerySchema, eventsQuerySchema, eventsStreamQuerySchema } from '@waymark/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startQuery, type TestQuery } from './test-query.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery();
});
afterAll(() => query.close());

test('the OpenAPI document has GET /events, all parameters and the three kinds of items', async () => {
  const document = (await query.app.inject('/openapi.json')).json();
  expect(Object.keys(document.paths)).toEqual([
    ...['/events', '/events/export', '/analytics', '/analytics/export', '/events/stream', '/partners/analytics'],
    ...['/exports', '/exports/{id}', '/exports/{id}/files/{name}'],
    ...['/exports/schedules', '/exports/schedules/{id}'],
  ]);
  const { parameters, responses, security } = document.paths['/events'].get;
  expect(parameters.map(({ name }: { name: string }) => name).sort()).toEqual(
    Object.keys(eventsQuerySchema.out.shape).sort(),
  );
  expect(parameters.every(({ required }: { required?: boolean }) => required !== true)).toBe(true);
  expect(JSON.stringify(responses['200'])).toMatch(/ClickEvent.*LeadEvent.*SaleEvent/);
  expect(security).toHaveLength(1);
});

test('the OpenAPI document has GET /analytics, all parameters, and the rows of all groupings', async () => {
  const document = (await query.app.inject('/openapi.json')).json();
  const { parameters, responses, security } = document.paths['/analytics'].get;
  expect(parameters.map(({ name }: { name: string }) => name).sort()).toEqual(
    Object.keys(analyticsQuerySchema.out.shape).sort(),
  );
  const groupBy = parameters.find(({ name }: { name: string }) => name === 'groupBy');
  expect(groupBy.schema.enum).toHaveLength(27);
  expect(responses['200'].content['application/json'].schema.anyOf).toHaveLength(26);
  expect(security).toHaveLength(1);
});

test('the OpenAPI document has GET /events/stream, with filters but no range, order or page, and the items of GET /events', async () => {
  const document = (await query.app.inject('/openapi.json')).json();
  const { parameters, responses, security } = document.paths['/events/stream'].get;
  const names = parameters.map(({ name }: { name: string }) => name);
  expect(names.sort()).toEqual(Object.keys(eventsStreamQuerySchema.out.shape).sort());
  const others = Object.keys(eventsQuerySchema.out.shape).filter((name) => !names.includes(name));
  expect(others.sort()).toEqual(
    ['interval', 'start', 'end', 'timezone', 'page', 'cursor', 'limit', 'sortOrder', 'sortBy', 'order'].sort(),
  );
  expect(JSON.stringify(responses['200'].content['text/event-stream'])).toMatch(/ClickEvent.*LeadEvent.*SaleEvent/);
  expect(security).toHaveLength(1);
});
