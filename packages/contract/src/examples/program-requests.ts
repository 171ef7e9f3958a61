import { exampleId } from './example-id.js';
import type { ExampleRequest } from './example-request.js';

/** Two applicants. The id 1 belongs to the partner that the examples enrol. */
const [welcome, unknown] = [exampleId('partner', 2), exampleId('partner', 3)];

/** Example requests for partners, webhooks and domains. */
export const PROGRAM_REQUESTS: readonly ExampleRequest[] = [
  {
    route: 'POST /partners',
    body: { email: 'linus@example.com', name: 'Linus', tenantId: 'partner-7', country: 'FI' },
  },
  { route: 'GET /partners', query: { tenantId: 'partner-7' } },
  { route: 'GET /partners/{id}', params: { id: 'ext_partner-7' } },
  {
    route: 'POST /partners/links',
    body: { tenantId: 'partner-7', url: 'https://acme.com/offer', key: 'linus-offer' },
  },
  {
    route: 'PUT /partners/links/upsert',
    body: { tenantId: 'partner-7', url: 'https://acme.com/offer', comments: 'Ends in August' },
  },
  { route: 'GET /partners/links', query: { tenantId: 'partner-7' } },
  { route: 'GET /partners/analytics', query: { tenantId: 'partner-7', groupBy: 'count' } },
  { route: 'GET /partners/applications', query: { sortOrder: 'asc' } },
  { route: 'POST /partners/applications/approve', body: { partnerId: welcome } },
  { route: 'POST /partners/applications/reject', body: { partnerId: unknown, rejectionReason: 'needsMoreDetail' } },
  { route: 'POST /partners/deactivate', body: { tenantId: 'partner-7' } },
  { route: 'POST /partners/reactivate', body: { tenantId: 'partner-7' } },
  { route: 'POST /partners/ban', body: { partnerId: welcome, reason: 'spam' } },
  { route: 'POST /partners/unban', body: { partnerId: welcome } },
  {
    route: 'POST /webhooks',
    body: { name: 'Orders', url: 'https://hooks.acme.com/waymark', triggers: ['lead.created', 'sale.created'] },
  },
  { route: 'GET /webhooks', query: { search: 'ord' } },
  { route: 'GET /webhooks/{id}', params: { id: exampleId('webhook', 1) } },
  {
    route: 'PATCH /webhooks/{id}',
    params: { id: exampleId('webhook', 1) },
    body: { triggers: ['sale.created', 'link.clicked'], linkScope: 'workspace' },
  },
  { route: 'DELETE /webhooks/{id}', params: { id: exampleId('webhook', 1) } },
  { route: 'POST /domains', body: { slug: 'links.acme.com', notFoundUrl: 'https://acme.com' } },
  { route: 'GET /domains', query: { search: 'links.' } },
  { route: 'GET /domains/{slug}', params: { slug: 'links.acme.com' } },
  { route: 'PATCH /domains/{slug}', params: { slug: 'links.acme.com' }, body: { placeholder: 'https://acme.com/x' } },
  { route: 'POST /domains/{slug}/primary', params: { slug: 'links.acme.com' } },
  { route: 'DELETE /domains/{slug}', params: { slug: 'links.acme.com' } },
  { route: 'DELETE /tags/{id}', params: { id: exampleId('tag', 1) } },
  { route: 'DELETE /folders/{id}', params: { id: exampleId('folder', 1) } },
];
