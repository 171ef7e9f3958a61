import type { Permission, Plan, Role } from '@waymark/contract';

/** What an API key must have to call a route. */
export interface RouteRequirements {
  /** `secret` by default. Publishable keys are visible in web pages. */
  readonly keyKind?: 'secret' | 'publishable';
  /** Absent for routes that need no particular scope. */
  readonly permission?: Permission;
  /** Roles that may call the route; absent = every role. */
  readonly roles?: readonly Role[];
  readonly minimumPlan?: Plan;
  /** Which rate limit of the key counts the call; `standard` by default. */
  readonly bucket?: 'standard' | 'analytics';
}

const requirementsByHook = new WeakMap<object, RouteRequirements>();

/** Stores the requirements of an authentication hook, for the OpenAPI document. */
export function registerRequirements(hook: object, requirements: RouteRequirements): void {
  requirementsByHook.set(hook, requirements);
}

/** The requirements of the route's authentication hook; undefined when it has no such hook. */
export function requirementsOf(route: {
  readonly onRequest?: object | object[] | null | undefined;
}): RouteRequirements | undefined {
  const hooks = Array.isArray(route.onRequest) ? route.onRequest : [route.onRequest];
  return hooks.flatMap((hook) => (hook != null && requirementsByHook.get(hook)) || [])[0];
}

/** The requirements as a sentence for the OpenAPI document; empty when any key will do. */
export function requirementsText({ keyKind, permission, minimumPlan, roles }: RouteRequirements): string {
  const needs = [
    ...(keyKind === 'publishable' ? ['a publishable key'] : []),
    ...(permission === undefined ? [] : [`the permission \`${permission}\``]),
    ...(minimumPlan === undefined ? [] : [`the plan ${minimumPlan} or higher`]),
    ...(roles === undefined ? [] : [`the role ${roles.join(' or ')}`]),
  ];
  return needs.length === 0 ? '' : `Needs ${needs.join(', ')}.`;
}
