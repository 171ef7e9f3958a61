import { exampleEventId, exampleId } from './example-id.js';
import type { ExampleRequest } from './example-request.js';

const click = exampleEventId(1);

/** Example requests for clicks, leads, sales, events, analytics and customers. */
export const EVENT_REQUESTS: readonly ExampleRequest[] = [
  { route: 'POST /track/click', body: { domain: 'go.acme.com', key: 'try', referrer: 'https://news.example/issue-7' } },
  {
    route: 'POST /track/lead',
    body: {
      clickId: click,
      eventName: 'Sign up',
      customerExternalId: 'user_42',
      customerName: 'Ada Lovelace',
      customerEmail: 'ada@example.com',
      metadata: { plan: 'pro' },
    },
  },
  {
    route: 'POST /track/sale',
    body: {
      customerExternalId: 'user_42',
      amount: 4900,
      currency: 'usd',
      paymentProcessor: 'stripe',
      invoiceId: 'inv_1001',
      metadata: { seats: 5 },
    },
  },
  { route: 'GET /events', query: { event: 'sales', interval: '24h', query: "metadata['seats'] >= 5" } },
  { route: 'GET /events/export', query: { event: 'sales', interval: '24h', format: 'ndjson' } },
  { route: 'GET /analytics/export', query: { event: 'composite', groupBy: 'countries,devices', interval: '24h' } },
  { route: 'GET /customers/export', query: { columns: 'id,externalId,email' } },
  {
    route: 'POST /exports',
    body: {
      resource: 'events',
      format: 'csv',
      columns: ['timestamp', 'link'],
      filters: { event: 'sales', interval: '30d' },
    },
  },
  { route: 'GET /exports', query: { pageSize: '10' } },
  { route: 'GET /exports/{id}', params: { id: exampleId('exportJob', 1) } },
  {
    route: 'GET /exports/{id}/files/{name}',
    params: { id: exampleId('exportJob', 1), name: 'sales-2026-03-04.csv' },
  },
  { route: 'DELETE /exports/{id}', params: { id: exampleId('exportJob', 1) } },
  {
    route: 'POST /exports/schedules',
    body: {
      resource: 'events',
      frequency: 'daily',
      format: 'parquet',
      filters: { event: 'sales' },
      destination: {
        type: 's3',
        endpoint: 'https://storage.example.com',
        region: 'eu-central-1',
        bucket: 'warehouse',
        prefix: 'waymark/sales',
        accessKeyId: 'AKIAEXAMPLE',
        secretAccessKey: 'the-secret-access-key',
      },
    },
  },
  { route: 'GET /exports/schedules', query: { pageSize: '10' } },
  { route: 'GET /exports/schedules/{id}', params: { id: exampleId('exportSchedule', 1) } },
  { route: 'PATCH /exports/schedules/{id}', params: { id: exampleId('exportSchedule', 1) }, body: { disabled: true } },
  { route: 'DELETE /exports/schedules/{id}', params: { id: exampleId('exportSchedule', 1) } },
  { route: 'GET /events/stream', query: { event: 'sales', country: 'US' } },
  { route: 'GET /analytics', query: { event: 'composite', groupBy: 'top_links', interval: '24h' } },
  { route: 'GET /customers', query: { email: 'ada@example.com' } },
  { route: 'GET /customers/{id}', params: { id: 'ext_user_42' }, query: { includeExpandedFields: 'true' } },
  { route: 'GET /customers/{id}/data', params: { id: 'ext_user_42' } },
  {
    route: 'POST /customers',
    body: { externalId: 'user_43', name: 'Grace', email: 'grace@example.com', country: 'US' },
  },
  { route: 'PATCH /customers/{id}', params: { id: 'ext_user_43' }, body: { name: 'Grace Hopper' } },
  { route: 'DELETE /customers/{id}', params: { id: 'ext_user_43' } },
  { route: 'POST /customers/{id}/erasure', params: { id: 'ext_user_44' }, body: { mode: 'anonymise' } },
  { route: 'GET /erasures' },
  { route: 'GET /erasures/{id}', params: { id: exampleId('erasure', 1) } },
  {
    route: 'POST /track/lead/client',
    body: { clickId: click, eventName: 'Trial started', customerExternalId: 'user_44', customerName: 'Alan Turing' },
  },
  {
    route: 'POST /track/sale/client',
    body: { customerExternalId: 'user_44', amount: 1900, invoiceId: 'inv_1002' },
  },
  { route: 'POST /track/open', body: { deepLink: 'https://go.acme.com/guide' } },
  { route: 'POST /track/visit', body: { domain: 'go.acme.com', url: 'https://go.acme.com/guide' } },
];
