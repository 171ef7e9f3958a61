import {
  bulkUpdateLinksBodySchema,
  eventSchema,
  eventsQuerySchema,
  linkSchema,
  trackLeadBodySchema,
  trackLeadResponseSchema,
  trackSaleBodySchema,
  trackSaleResponseSchema,
  updateLinkBodySchema,
} from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { registerRequirements } from '../../src/auth/route-requirements.js';
import { type App, authPlugin } from '../../src/index.js';
import { aTestApp, DOC_BASE } from '../test-app.js';

interface Operation {
  operationId: string;
  security?: unknown;
  description?: string;
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: { required: boolean };
  responses: Record<string, { $ref?: string }>;
}
interface Document {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

let app: App;
let document: Document;

beforeAll(async () => {
  ({ app } = aTestApp({ baseUrl: 'https://api.example.com/v1', title: 'Waymark API' }));
  app.register(authPlugin, {
    catalog: { keys: { authenticate: async () => undefined } },
    rateLimiter: {
      take: () => Promise.reject(new Error('not counted')),
      peek: () => Promise.reject(new Error('not counted')),
      giveBack: async () => {},
      close: async () => {},
    },
  });
  app.register(async (routes: App) => {
    const onRequest = routes.authenticate({ permission: 'analytics.read', bucket: 'analytics' });
    const events = { querystring: eventsQuerySchema, response: { 200: z.array(eventSchema) } };
    routes.get('/events', { onRequest, schema: { operationId: 'listEvents', ...events } }, async () => []);
    const lead = {
      description: 'Records a lead.',
      body: trackLeadBodySchema,
      response: { 200: trackLeadResponseSchema },
    };
    routes.post('/track/lead', { onRequest: [onRequest], schema: lead }, async () => Promise.reject(new Error()));
    const sale = { body: trackSaleBodySchema, response: { 200: trackSaleResponseSchema } };
    routes.post('/track/sale', { onRequest, schema: sale }, async () => Promise.reject(new Error()));
    const ofPages = async () => {};
    registerRequirements(ofPages, { keyKind: 'publishable', minimumPlan: 'business' });
    routes.post('/track/sale/client', { onRequest: ofPages, schema: sale }, async () => Promise.reject(new Error()));
    const link = { params: z.object({ linkId: z.string() }), response: { 200: linkSchema } };
    routes.get('/public/:linkId', { schema: link }, async () => Promise.reject(new Error()));
    const change = { ...link, body: updateLinkBodySchema };
    routes.patch('/public/:linkId', { schema: change }, async () => Promise.reject(new Error()));
    routes.patch('/bulk', { schema: { body: bulkUpdateLinksBodySchema } }, async () => Promise.reject(new Error()));
  });
  document = (await app.inject('/openapi.json')).json();
});
afterAll(() => app.close());

it('describes every route except the probes and itself, in OpenAPI 3.1', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(document.servers).toEqual([{ url: 'https://api.example.com/v1' }]);
  expect(Object.keys(document.paths).sort()).toEqual([
    '/bulk',
    '/events',
    '/public/{linkId}',
    '/track/lead',
    '/track/sale',
    '/track/sale/client',
  ]);
});

it('every operation has a unique id', () => {
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(ids.sort()).toEqual([
    'getPublicLinkId',
    'listEvents',
    'patchBulk',
    'patchPublicLinkId',
    'postTrackLead',
    'postTrackSale',
    'postTrackSaleClient',
  ]);
});

it('lists the routes that need a key', () => {
  expect(document.paths['/events']?.get?.security).toEqual([{ token: [] }]);
  expect(document.paths['/track/lead']?.post?.security).toEqual([{ token: [] }]);
  expect(document.paths['/public/{linkId}']?.get?.security).toBeUndefined();
  expect(document.components.securitySchemes).toHaveProperty('token');
  const needs = 'Needs the permission `analytics.read`.';
  expect(document.paths['/events']?.get?.description).toBe(needs);
  expect(document.paths['/track/lead']?.post?.description).toBe(`Records a lead. ${needs}`);
});

it('marks routes that accept publishable keys, with their error responses', () => {
  const operation = document.paths['/track/sale/client']?.post;
  expect(operation?.security).toEqual([{ publishableKey: [] }]);
  expect(operation?.responses).toHaveProperty('401');
  expect(operation?.description).toBe('Needs a publishable key, the plan business or higher.');
  expect(document.components.securitySchemes).toHaveProperty('publishableKey');
});

it('lists the errors of each operation with their one code', () => {
  const statuses = ['200', '400', '401', '403', '404', '409', '410', '422', '429', '500'];
  expect(Object.keys(document.paths['/events']?.get?.responses ?? {})).toEqual(statuses);
  expect(document.paths['/events']?.get?.responses[429]).toEqual({
    $ref: '#/components/responses/rate_limit_exceeded',
  });
  expect(document.paths['/public/{linkId}']?.get?.responses).not.toHaveProperty('401');
  expect(JSON.stringify(document.components.responses)).toContain(
    `${DOC_BASE}/api-reference/errors#rate-limit-exceeded`,
  );
});

it('a body is required, except that of a change whose fields are all optional', () => {
  const isRequired = (path: string, method: string) => document.paths[path]?.[method]?.requestBody?.required;
  expect(isRequired('/public/{linkId}', 'patch')).toBe(false);
  expect(isRequired('/bulk', 'patch')).toBe(true);
  expect(isRequired('/track/lead', 'post')).toBe(true);
  expect(Object.keys(document.paths['/public/{linkId}']?.patch ?? {}).filter((name) => name.startsWith('x-'))).toEqual(
    [],
  );
});

it('every reference resolves, and every schema is used', () => {
  const text = JSON.stringify(document);
  const names = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
  expect([...names].sort()).toEqual(Object.keys(document.components.schemas ?? {}).sort());
  for (const name of ['Link', 'Customer', 'ClickEvent', 'JsonValue', 'JsonValueInput']) expect(names).toContain(name);
});

it('lists the query parameters with their types', () => {
  const limit = document.paths['/events']?.get?.parameters?.find(({ name }) => name === 'limit');
  expect(limit).toEqual({
    name: 'limit',
    in: 'query',
    required: false,
    description: 'Events on a page.',
    schema: { type: 'number', minimum: 1, maximum: 1000, default: 100 },
  });
});
