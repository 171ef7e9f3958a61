import { exampleId } from './example-id.js';
import type { ExampleRequest } from './example-request.js';

const tag = exampleId('tag', 1);
const folder = exampleId('folder', 1);
const template = exampleId('utmTemplate', 1);
/** The two links that are created in bulk. The ids 1 and 2 belong to the created and the upserted link. */
const [june, july] = [exampleId('link', 3), exampleId('link', 4)];

/** Example requests for the workspace, tags, folders, UTM templates and links. */
export const LINK_REQUESTS: readonly ExampleRequest[] = [
  // First, because after other requests its usage counters could be outdated for half a minute.
  { route: 'GET /workspaces/{idOrSlug}', params: { idOrSlug: 'acme' } },
  { route: 'POST /tags', body: { name: 'newsletter', color: 'blue' } },
  { route: 'PATCH /tags/{id}', params: { id: tag }, body: { color: 'green' } },
  { route: 'GET /tags', query: { search: 'news' } },
  { route: 'GET /tags/{id}', params: { id: tag } },
  { route: 'POST /folders', body: { name: 'Launch', description: 'Everything about the launch' } },
  { route: 'PATCH /folders/{id}', params: { id: folder }, body: { name: 'Summer launch' } },
  { route: 'GET /folders', query: { sortBy: 'name' } },
  { route: 'GET /folders/{id}', params: { id: folder } },
  { route: 'POST /utm', body: { name: 'Newsletter', utm_source: 'newsletter', utm_medium: 'email' } },
  { route: 'PATCH /utm/{id}', params: { id: template }, body: { utm_campaign: 'summer' } },
  { route: 'GET /utm', query: { search: 'news' } },
  { route: 'GET /utm/{id}', params: { id: template } },
  { route: 'DELETE /utm/{id}', params: { id: template } },
  {
    route: 'POST /links',
    body: {
      url: 'https://acme.com/pricing?plan=pro',
      domain: 'go.acme.com',
      key: 'try',
      externalId: 'pricing-page',
      trackConversion: true,
      tagIds: [tag],
      folderId: folder,
      utm_source: 'newsletter',
    },
  },
  {
    route: 'PATCH /links/{linkId}',
    params: { linkId: 'ext_pricing-page' },
    body: { comments: 'In every issue of the newsletter', utm_medium: 'email' },
  },
  { route: 'GET /links/info', query: { domain: 'go.acme.com', key: 'try' } },
  { route: 'GET /links/{linkId}', params: { linkId: exampleId('link', 1) } },
  {
    route: 'PUT /links/upsert',
    body: { url: 'https://acme.com/guide', domain: 'go.acme.com', key: 'guide', title: 'The guide' },
  },
  {
    route: 'POST /links/bulk',
    body: [
      { url: 'https://acme.com/june', domain: 'go.acme.com', key: 'june' },
      { url: 'https://acme.com/july', domain: 'go.acme.com', key: 'july' },
    ],
  },
  { route: 'PATCH /links/bulk', body: { linkIds: [june, july], data: { comments: 'Ends in August' } } },
  { route: 'GET /links', query: { tagIds: tag, sortBy: 'clicks', pageSize: '10' } },
  { route: 'GET /links/export', query: { format: 'csv', columns: 'link,url,clicks' } },
  { route: 'GET /links/count', query: { folderId: folder } },
  { route: 'DELETE /links/bulk', query: { linkIds: june } },
  { route: 'DELETE /links/{linkId}', params: { linkId: july } },
  { route: 'GET /links/metatags', query: { url: 'https://shop.example/spring-sale' } },
  { route: 'GET /qr', query: { url: 'https://go.acme.com/try', size: '300' } },
  {
    route: 'POST /imports',
    body: {
      source: 'kutt',
      address: 'https://kutt.example',
      credentials: { apiKey: 'the-api-key' },
      domains: ['kutt.example=go.acme.com'],
      tags: ['Kutt'],
      dryRun: true,
    },
  },
  { route: 'GET /imports', query: { pageSize: '10' } },
  { route: 'GET /imports/{id}', params: { id: exampleId('importJob', 1) } },
  { route: 'GET /imports/{id}/rejected.csv', params: { id: exampleId('importJob', 1) } },
  { route: 'GET /imports/{id}/lost.csv', params: { id: exampleId('importJob', 1) } },
  { route: 'DELETE /imports/{id}', params: { id: exampleId('importJob', 1) } },
];
