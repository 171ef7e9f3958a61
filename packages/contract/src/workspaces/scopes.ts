import { z } from 'zod';

/** Scopes a key may hold. */
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

export const ROLES = ['owner', 'member', 'viewer', 'billing'] as const;
export const roleSchema = z.enum(ROLES);
export type Role = (typeof ROLES)[number];

/**
 * What a route asks for. `conversions.write` is ours: `/track/*`, `/customers*` and `/partners*` writes have no scope of
 * their own, yet a key that may only read must not make them.
 */
export type Permission = Exclude<Scope, 'apis.all' | 'apis.read'> | 'conversions.write';

const RESOURCES = ['links', 'tags', 'folders', 'domains', 'workspaces', 'groups'] as const;
const OWNER_ONLY: ReadonlySet<Permission> = new Set(['domains.write', 'workspaces.write', 'webhooks.write']);

function scopeGives(scope: Scope, permission: Permission): boolean {
  if (scope === permission) return true;
  if (permission === 'conversions.write') return scope === 'apis.all' || scope.endsWith('.write');
  const [resource, action] = permission.split('.') as [string, 'read' | 'write'];
  const isGeneral = resource === 'analytics' || (RESOURCES as readonly string[]).includes(resource);
  if (scope === 'apis.all') return isGeneral;
  if (scope === 'apis.read') return isGeneral && action === 'read';
  return action === 'read' && scope === `${resource}.write`;
}

function roleGives(role: Role, permission: Permission): boolean {
  if (role === 'owner') return true;
  if (OWNER_ONLY.has(permission)) return false;
  if (role === 'member') return true;
  return permission.endsWith('.read');
}

/** Granted only if the role and the key's scopes both give it; a key without scopes has all its role gives. */
export function hasPermission(role: Role, scopes: readonly Scope[], permission: Permission): boolean {
  if (!roleGives(role, permission)) return false;
  return scopes.length === 0 || scopes.some((scope) => scopeGives(scope, permission));
}
