import { exampleId } from './example-id.js';
import type { ExampleRequest } from './example-request.js';

const tag = exampleId('tag', 1);
const folder = exampleId('folder', 1);
/** The two made in bulk: after the link itself and the one that the upsert makes. */
const [june, july] = [exampleId('link', 3), exampleId('link', 4)];

/** Tags, folders and the links in them. */
export const LINK_REQUESTS: readonly ExampleRequest[] = [
  { route: 'POST /tags', body: { name: 'newsletter', color: 'blue' } },
  { route: 'PATCH /tags/{id}', params: { id: tag }, body: { color: 'green' } },
  { route: 'GET /tags', query: { search: 'news' } },
  { route: 'POST /folders', body: { name: 'Launch', description: 'Everything about the launch' } },
  { route: 'PATCH /folders/{id}', params: { id: folder }, body: { name: 'Summer launch' } },
  { route: 'GET /folders', query: { sortBy: 'name' } },
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
  { route: 'GET /links/count', query: { folderId: folder } },
  { route: 'DELETE /links/bulk', query: { linkIds: june } },
  { route: 'DELETE /links/{linkId}', params: { linkId: july } },
  { route: 'GET /qr', query: { url: 'https://go.acme.com/try', size: '300' } },
];
