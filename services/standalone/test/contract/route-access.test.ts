import {
  EXAMPLE_REQUESTS,
  type ExampleRequest,
  type Permission,
  PLANS,
  type Plan,
  ROLES,
  type Role,
  SCOPES,
  type Scope,
} from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GRANTS, OPEN_ROUTES, PAGE_ROUTES, ROUTE_ACCESS, type RouteAccess } from './route-access.js';
import { startWholeApi, type WholeApi } from './whole-api.js';

// Every registered route is called with keys of each role, with keys that lack one permission or have nothing else, and on the plans beside
// its own. Every request has an unknown parameter, so that no admitted one changes anything.

const MANY = 1_000_000;
const ADMITTED = 'admitted';
const UNKNOWN_PARAMETER = '422 unrecognized_keys: zzqjxw: is not a parameter of this request';

interface Workspace {
  readonly id: string;
  readonly owner: string;
  readonly publishable: string;
}

let api: WholeApi;
const workspaces = new Map<Plan, Workspace>();
const tokens = new Map<string, string>();

beforeAll(async () => {
  api = await startWholeApi({ trustedProxies: ['127.0.0.1/32'] });
  for (const plan of PLANS) {
    const { workspace, apiKey, publishableKey } = await api.catalog.workspaces.create({
      ...{ name: plan, slug: plan, plan, domain: `${plan}.example.com` },
    });
    await api.catalog.workspaces.update(workspace.id, { requestsPerMinute: MANY, analyticsPerSecond: MANY });
    workspaces.set(plan, { id: workspace.id, owner: apiKey.token, publishable: publishableKey.token });
  }
});
afterAll(() => api.close());

function workspaceOn(plan: Plan): Workspace {
  const workspace = workspaces.get(plan);
  if (workspace === undefined) throw new Error(`there is no workspace on ${plan}`);
  return workspace;
}

/** The token of a key of the workspace on the plan. */
async function keyWith(role: Role, scopes: readonly Scope[] = [], plan: Plan = 'enterprise'): Promise<string> {
  const name = `${plan} ${role} ${scopes.join(' ')}`;
  const known = tokens.get(name);
  if (known !== undefined) return known;
  const { id } = workspaceOn(plan);
  const { token } = await api.catalog.keys.create({ workspaceId: id, name, kind: 'secret', role, scopes });
  tokens.set(name, token);
  return token;
}

let requests = 0;

/** Calls the route from a new address, because calls of web pages are limited by network. */
function send(
  route: string,
  token: string | undefined,
  { query = {}, body }: Partial<ExampleRequest>,
): Promise<Response> {
  requests += 1;
  const [method = '', path = ''] = route.split(' ');
  return fetch(`${api.url}${path.replace(/\{\w+\}/g, 'none')}?${new URLSearchParams({ ...query, zzqjxw: '1' })}`, {
    method,
    headers: {
      'x-forwarded-for': `203.${requests >> 16}.${(requests >> 8) & 255}.${requests & 255}`,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** What the route answers to the key, in the words of {@link expected}. */
async function outcome(route: string, token: string | undefined, answer = UNKNOWN_PARAMETER): Promise<string> {
  const response = await send(route, token, EXAMPLE_REQUESTS.find((one) => one.route === route) ?? {});
  const { error } = (await response.json()) as { readonly error?: { readonly message: string } };
  const text = `${response.status} ${error?.message}`;
  return text === answer ? ADMITTED : text;
}

const lacking = (permission: Permission) =>
  `403 The API key lacks the permission "${permission}" that this endpoint needs.`;
const below = (plan: Plan) => `403 This endpoint needs the plan ${plan} or higher.`;

/** What a key must be answered on the largest plan: the first failure of permissions and role, in this order. */
function expected({ permissions = [], roles }: RouteAccess, role: Role, scopes: readonly Scope[] = []): string {
  const isGiven = (permission: Permission) =>
    GRANTS[permission].roles.includes(role) &&
    (scopes.length === 0 || GRANTS[permission].scopes.some((scope) => scopes.includes(scope)));
  const missing = permissions.find((permission) => !isGiven(permission));
  if (missing !== undefined) return lacking(missing);
  if (roles !== undefined && !roles.includes(role)) return `403 This endpoint needs the role ${roles.join(' or ')}.`;
  return ADMITTED;
}

/** Each route with its row of the table. */
const ROUTES = ROUTE_ACCESS.flatMap((access) => access.routes.map((route) => ({ route, access })));

it('every registered route is in the table, once', () => {
  const known = [...ROUTES.map(({ route }) => route), ...PAGE_ROUTES, ...OPEN_ROUTES];
  expect(known.toSorted()).toEqual([...api.routes].sort());
  expect(EXAMPLE_REQUESTS.map(({ route }) => route as string).filter((route) => !known.includes(route))).toEqual([]);
});

it.each(ROUTES)('$route admits what the table says, and nothing else', async ({ route, access }) => {
  const { permissions = [], plan = 'free', answer } = access;
  const cases: (readonly [name: string, token: string | undefined, expected: string])[] = [];
  const add = async (role: Role, scopes: readonly Scope[] = []) => {
    cases.push([`${role} ${scopes.join(' ')}`, await keyWith(role, scopes), expected(access, role, scopes)]);
  };
  for (const role of ROLES) await add(role);
  // `apis.read` gives every reading permission but `webhooks.read`, whose scope gives no other: a route that needs one too many refuses one key.
  for (const scope of ['apis.read', 'apis.all', 'webhooks.read'] as const) await add('owner', [scope]);
  await add(
    'owner',
    permissions.flatMap((permission) => GRANTS[permission].scopes.slice(0, 1)),
  );
  // All scopes that do not give the permission.
  for (const permission of permissions) {
    const { scopes } = GRANTS[permission];
    await add(
      'owner',
      SCOPES.filter((scope) => !scopes.includes(scope)),
    );
    expect(cases.at(-1)?.[2]).toBe(lacking(permission));
  }
  cases.push([plan, workspaceOn(plan).owner, ADMITTED]);
  const lower = PLANS[PLANS.indexOf(plan) - 1];
  if (lower !== undefined) {
    // The permission and the role come before the plan, a second permission after it.
    for (const role of ROLES) {
      const first = expected({ ...access, permissions: permissions.slice(0, 1) }, role);
      cases.push([`${lower} ${role}`, await keyWith(role, [], lower), first === ADMITTED ? below(plan) : first]);
    }
  }
  cases.push(['publishable', workspaceOn('enterprise').publishable, '401 Invalid API key.']);
  cases.push(['no key', undefined, '401 Missing Authorization header.']);

  const answered: [string, string][] = [];
  for (const [name, token] of cases) answered.push([name, await outcome(route, token, answer)]);
  expect(answered).toEqual(cases.map(([name, , expected]) => [name, expected]));
});

it.each(PAGE_ROUTES)('%s takes publishable keys only, from the plan business on', async (route) => {
  // These routes accept unknown parameters, so the body is the fault.
  const statusFor = async (token: string | undefined) => (await send(route, token, { body: {} })).status;
  expect(await statusFor(workspaceOn('business').publishable)).toBe(400);
  expect(await outcome(route, workspaceOn('pro').publishable)).toBe(below('business'));
  expect(await statusFor(workspaceOn('business').owner)).toBe(401);
  expect(await statusFor(undefined)).toBe(401);
});

it('the other routes need no key', async () => {
  for (const route of OPEN_ROUTES) {
    const { status } = await send(route, undefined, route.startsWith('POST') ? { body: {} } : {});
    expect([route, [401, 403, 500].includes(status)]).toEqual([route, false]);
  }
});
