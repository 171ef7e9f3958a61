import type { Permission, Plan, Role } from '@waymark/contract';

/** What a key needs for a route. */
export interface RouteRequirements {
  /** Secret unless said otherwise; publishable keys stand in pages. */
  readonly keyKind?: 'secret' | 'publishable';
  /** Left out for routes without a scope of their own. */
  readonly permission?: Permission;
  /** Roles that may call; left out, every role may. */
  readonly roles?: readonly Role[];
  readonly minimumPlan?: Plan;
  /** Which of the key's two rate limits counts the call. */
  readonly bucket?: 'standard' | 'analytics';
}

const requirementsByHook = new WeakMap<object, RouteRequirements>();

/** Stores what an authentication hook requires, for the OpenAPI document. */
export function rememberRequirements(hook: object, requirements: RouteRequirements): void {
  requirementsByHook.set(hook, requirements);
}

/** What the authentication hook of the route requires; undefined when it has none. */
export function requirementsOf(route: {
  readonly onRequest?: object | object[] | null | undefined;
}): RouteRequirements | undefined {
  const hooks = Array.isArray(route.onRequest) ? route.onRequest : [route.onRequest];
  return hooks.flatMap((hook) => (hook != null && requirementsByHook.get(hook)) || [])[0];
}

/** What a caller needs, in words for the OpenAPI document; empty when any key will do. */
export function requirementsText({ keyKind, permission, minimumPlan, roles }: RouteRequirements): string {
  const needs = [
    ...(keyKind === 'publishable' ? ['a publishable key'] : []),
    ...(permission === undefined ? [] : [`the permission \`${permission}\``]),
    ...(minimumPlan === undefined ? [] : [`the plan ${minimumPlan} or higher`]),
    ...(roles === undefined ? [] : [`the role ${roles.join(' or ')}`]),
  ];
  return needs.length === 0 ? '' : `Needs ${needs.join(', ')}.`;
}
