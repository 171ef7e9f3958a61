import type { Permission, Plan, Role } from '@waymark/contract';

/** What a key needs for a route (spec 1.2). */
export interface RouteRequirements {
  /** Left out for routes without a scope of their own. */
  readonly permission?: Permission;
  /** Roles that may call; left out, every role may. */
  readonly roles?: readonly Role[];
  readonly minimumPlan?: Plan;
  /** Which of the key's two rate limits counts the call. */
  readonly bucket?: 'standard' | 'analytics';
}

const requirementsByHook = new WeakMap<object, RouteRequirements>();

/** Remembers what a hook made by `app.authenticate` asks for, so that the OpenAPI document can say so. */
export function rememberRequirements(hook: object, requirements: RouteRequirements): void {
  requirementsByHook.set(hook, requirements);
}

/** Whether one of the route's hooks was made by `app.authenticate`. */
export function isAuthenticated(route: { readonly onRequest?: object | object[] | null | undefined }): boolean {
  const hooks = Array.isArray(route.onRequest) ? route.onRequest : [route.onRequest];
  return hooks.some((hook) => hook != null && requirementsByHook.has(hook));
}
