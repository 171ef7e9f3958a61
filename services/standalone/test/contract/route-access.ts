import type { Permission, Plan, Role, Scope } from '@waymark/contract';

/**
 * What an API key needs for each route, as docs/reference promises it: access.md, plans.md and the pages of the resources. It is written
 * down here a second time on purpose: the routes are checked against this table, not against their own requirements.
 */

export interface RouteAccess {
  readonly routes: readonly string[];
  readonly permissions?: readonly Permission[];
  /** Absent = every role that has the permissions. */
  readonly roles?: readonly Role[];
  readonly plan?: Plan;
  /** The response to a key that has all of this, for routes that always answer with an error. */
  readonly answer?: string;
}

const ALL: readonly Role[] = ['owner', 'member', 'viewer', 'billing'];
const WRITERS: readonly Role[] = ['owner', 'member'];
const OWNER: readonly Role[] = ['owner'];

interface Grant {
  readonly scopes: readonly Scope[];
  readonly roles: readonly Role[];
}

type Resource = 'links' | 'tags' | 'folders' | 'groups' | 'domains' | 'workspaces';
const reading = (name: Resource): Grant => ({
  scopes: [`${name}.read`, `${name}.write`, 'apis.read', 'apis.all'],
  roles: ALL,
});
const writing = (name: Resource, roles: readonly Role[]): Grant => ({ scopes: [`${name}.write`, 'apis.all'], roles });

/** Which scopes and roles give a permission: the table "Scopes and roles" of access.md. */
export const GRANTS: Readonly<Record<Permission, Grant>> = {
  'links.read': reading('links'),
  'tags.read': reading('tags'),
  'folders.read': reading('folders'),
  'groups.read': reading('groups'),
  'domains.read': reading('domains'),
  'workspaces.read': reading('workspaces'),
  'analytics.read': { scopes: ['analytics.read', 'apis.read', 'apis.all'], roles: ALL },
  'webhooks.read': { scopes: ['webhooks.read', 'webhooks.write'], roles: ALL },
  'links.write': writing('links', WRITERS),
  'tags.write': writing('tags', WRITERS),
  'folders.write': writing('folders', WRITERS),
  'groups.write': writing('groups', WRITERS),
  'domains.write': writing('domains', OWNER),
  'workspaces.write': writing('workspaces', OWNER),
  'webhooks.write': { scopes: ['webhooks.write'], roles: OWNER },
  'conversions.write': {
    scopes: [
      'apis.all',
      ...(['links', 'tags', 'folders', 'groups', 'domains', 'workspaces', 'webhooks'] as const).map(
        (name) => `${name}.write` as const,
      ),
    ],
    roles: WRITERS,
  },
};

const of = (path: string, ...methods: readonly string[]) => methods.map((method) => `${method} ${path}`);

/** Routes that need an API key. A route is in one row. */
export const ROUTE_ACCESS: readonly RouteAccess[] = [
  {
    permissions: ['links.read'],
    routes: [
      ...of('/links', 'GET'),
      ...of('/links/count', 'GET'),
      ...of('/links/export', 'GET'),
      ...of('/links/info', 'GET'),
      ...of('/links/metatags', 'GET'),
      ...of('/links/{linkId}', 'GET'),
      ...of('/utm', 'GET'),
      ...of('/utm/{id}', 'GET'),
    ],
  },
  {
    permissions: ['links.write'],
    routes: [
      ...of('/links', 'POST'),
      ...of('/links/bulk', 'POST', 'PATCH', 'DELETE'),
      ...of('/links/upsert', 'PUT'),
      ...of('/links/{linkId}', 'PATCH', 'PUT', 'DELETE'),
      ...of('/utm', 'POST'),
      ...of('/utm/{id}', 'PATCH', 'DELETE'),
      ...of('/imports', 'GET', 'POST'),
      ...of('/imports/{id}', 'GET', 'DELETE'),
      ...of('/imports/{id}/rejected.csv', 'GET'),
      ...of('/imports/{id}/lost.csv', 'GET'),
    ],
  },
  { permissions: ['tags.read'], routes: [...of('/tags', 'GET'), ...of('/tags/{id}', 'GET')] },
  { permissions: ['tags.write'], routes: [...of('/tags', 'POST'), ...of('/tags/{id}', 'PATCH', 'PUT', 'DELETE')] },
  { permissions: ['folders.read'], routes: [...of('/folders', 'GET'), ...of('/folders/{id}', 'GET')] },
  {
    permissions: ['folders.write'],
    plan: 'pro',
    routes: [...of('/folders', 'POST'), ...of('/folders/{id}', 'PATCH', 'DELETE')],
  },
  { permissions: ['domains.read'], routes: [...of('/domains', 'GET'), ...of('/domains/{slug}', 'GET')] },
  {
    permissions: ['domains.write'],
    routes: [
      ...of('/domains', 'POST'),
      ...of('/domains/{slug}', 'PATCH', 'DELETE'),
      ...of('/domains/{slug}/primary', 'POST'),
    ],
  },
  {
    permissions: ['domains.write'],
    plan: 'enterprise',
    routes: of('/domains/register', 'POST'),
    answer: '403 Domains cannot be registered through this service.',
  },
  {
    permissions: ['domains.read'],
    plan: 'enterprise',
    routes: of('/domains/status', 'GET'),
    answer: '403 Domains cannot be registered through this service.',
  },
  { permissions: ['workspaces.read'], routes: of('/workspaces/{idOrSlug}', 'GET') },
  {
    permissions: ['webhooks.read'],
    plan: 'business',
    routes: [...of('/webhooks', 'GET'), ...of('/webhooks/{id}', 'GET')],
  },
  {
    permissions: ['webhooks.write'],
    plan: 'business',
    routes: [...of('/webhooks', 'POST'), ...of('/webhooks/{id}', 'PATCH', 'DELETE')],
  },
  {
    permissions: ['analytics.read'],
    plan: 'pro',
    routes: [...of('/analytics', 'GET'), ...of('/analytics/export', 'GET')],
  },
  {
    permissions: ['analytics.read'],
    plan: 'business',
    routes: [
      ...of('/events', 'GET'),
      ...of('/events/export', 'GET'),
      ...of('/events/stream', 'GET'),
      ...of('/exports/schedules', 'GET'),
      ...of('/exports/schedules/{id}', 'GET'),
      // The body names the resource that is exported; the one of the example is `events`.
      ...of('/exports', 'POST'),
    ],
  },
  {
    permissions: ['analytics.read', 'webhooks.write'],
    plan: 'business',
    routes: [...of('/exports/schedules', 'POST'), ...of('/exports/schedules/{id}', 'PATCH', 'DELETE')],
  },
  {
    // A job of another resource than the key may read is refused once it is found, or not listed: export-jobs.test.ts.
    routes: [
      ...of('/exports', 'GET'),
      ...of('/exports/{id}', 'GET', 'DELETE'),
      ...of('/exports/{id}/files/{name}', 'GET'),
    ],
  },
  {
    roles: WRITERS,
    plan: 'business',
    routes: [
      ...of('/customers', 'GET'),
      ...of('/customers/export', 'GET'),
      ...of('/customers/{id}', 'GET'),
      ...of('/partners', 'GET'),
      ...of('/partners/{id}', 'GET'),
      ...of('/partners/links', 'GET'),
      ...of('/partners/analytics', 'GET'),
      ...of('/partners/applications', 'GET'),
    ],
  },
  {
    permissions: ['conversions.write'],
    plan: 'business',
    routes: [
      ...of('/track/lead', 'POST'),
      ...of('/track/sale', 'POST'),
      ...of('/customers', 'POST'),
      ...of('/customers/{id}', 'PATCH', 'DELETE'),
      ...of('/partners', 'POST'),
      ...of('/partners/ban', 'POST'),
      ...of('/partners/unban', 'POST'),
      ...of('/partners/deactivate', 'POST'),
      ...of('/partners/reactivate', 'POST'),
      ...of('/partners/links', 'POST'),
      ...of('/partners/links/upsert', 'PUT'),
      ...of('/partners/applications/approve', 'POST'),
      ...of('/partners/applications/reject', 'POST'),
    ],
  },
  {
    permissions: ['analytics.read', 'webhooks.read'],
    roles: OWNER,
    plan: 'business',
    routes: of('/customers/{id}/data', 'GET'),
  },
  { permissions: ['workspaces.write'], routes: of('/customers/{id}/erasure', 'POST') },
  {
    permissions: ['workspaces.read'],
    roles: OWNER,
    routes: [...of('/erasures', 'GET'), ...of('/erasures/{id}', 'GET')],
  },
  {
    // Features that do not exist here.
    answer: '404 Program not found.',
    routes: [
      ...of('/commissions', 'GET', 'POST'),
      ...of('/commissions/bulk', 'PATCH'),
      ...of('/commissions/{id}', 'PATCH'),
      ...of('/payouts', 'GET'),
      ...of('/discount-codes', 'GET', 'POST'),
      ...of('/discount-codes/{idOrCode}', 'DELETE'),
      ...of('/bounties/{bountyId}/submissions', 'GET'),
      ...of('/bounties/{bountyId}/submissions/{submissionId}/approve', 'POST'),
      ...of('/bounties/{bountyId}/submissions/{submissionId}/reject', 'POST'),
      ...of('/tokens/embed/referrals', 'POST'),
    ],
  },
];

/** Routes of web pages that need a publishable key, and the plan `business`. */
export const PAGE_ROUTES: readonly string[] = ['POST /track/lead/client', 'POST /track/sale/client'];

const SCRIPT_FEATURES = ['site-visit.', 'outbound-domains.', 'conversion-tracking.'];
const scriptNames = SCRIPT_FEATURES.reduce<readonly string[]>(
  (names, feature) => names.flatMap((name) => [name, `${name}${feature}`]),
  [''],
);

/** Routes that need no key. None of them reads or changes what belongs to a workspace, other than its short links. */
export const OPEN_ROUTES: readonly string[] = [
  ...['/', '/openapi.json', '/docs', '/docs/api-reference/errors', '/docs/reference', '/docs/reference/{name}'].map(
    (path) => `GET ${path}`,
  ),
  ...['/healthz', '/readyz', '/internal/domain-check', '/qr'].map((path) => `GET ${path}`),
  ...scriptNames.map((name) => `GET /analytics/script.${name}js`),
  ...['/track/click', '/track/open', '/track/visit'].map((path) => `POST ${path}`),
];
