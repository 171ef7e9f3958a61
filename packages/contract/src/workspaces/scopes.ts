import { z } from 'zod';

/** Scopes of API keys (docs/reference/access.md). */
export const SCOPES = [
  'apis.all',
  'apis.read',
  'links.read',
  'links.write',
  'tags.read',
  'tags.write',
  'folders.read',
  'folders.write',
  'domains.read',
  'domains.write',
  'groups.read',
  'groups.write',
  'workspaces.read',
  'workspaces.write',
  'analytics.read',
  'webhooks.read',
  'webhooks.write',
] as const;
export const scopeSchema = z.enum(SCOPES);
export type Scope = (typeof SCOPES)[number];

/** Roles of API keys. */
export const ROLES = ['owner', 'member', 'viewer', 'billing'] as const;
export const roleSchema = z.enum(ROLES);
export type Role = (typeof ROLES)[number];

/**
 * A permission that a route can require. All are scopes except `conversions.write`, which writes to `/track/*`, `/customers*` and
 * `/partners*` require: there is no scope for these writes, but read-only keys must not make them.
 */
export type Permission = Exclude<Scope, 'apis.all' | 'apis.read'> | 'conversions.write';

const RESOURCES = ['links', 'tags', 'folders', 'domains', 'workspaces', 'groups'] as const;
const OWNER_ONLY: ReadonlySet<Permission> = new Set(['domains.write', 'workspaces.write', 'webhooks.write']);

function scopeGrants(scope: Scope, permission: Permission): boolean {
  if (scope === permission) return true;
  if (permission === 'conversions.write') return scope === 'apis.all' || scope.endsWith('.write');
  const [resource, action] = permission.split('.') as [string, 'read' | 'write'];
  const isGeneral = resource === 'analytics' || (RESOURCES as readonly string[]).includes(resource);
  if (scope === 'apis.all') return isGeneral;
  if (scope === 'apis.read') return isGeneral && action === 'read';
  return action === 'read' && scope === `${resource}.write`;
}

function roleGrants(role: Role, permission: Permission): boolean {
  if (role === 'owner') return true;
  if (OWNER_ONLY.has(permission)) return false;
  if (role === 'member') return true;
  return permission.endsWith('.read');
}

/** Whether both the role and the key's scopes grant the permission. A key without scopes has all permissions of its role. */
export function hasPermission(role: Role, scopes: readonly Scope[], permission: Permission): boolean {
  if (!roleGrants(role, permission)) return false;
  return scopes.length === 0 || scopes.some((scope) => scopeGrants(scope, permission));
}
