import { ApiError, type Plan, planAtLeast } from '@waymark/contract';

/** Link fields and the smallest plan that includes each. The error names the first field, in this order, that the plan does not include. */
const GATED_FIELDS = {
  proxy: 'pro',
  password: 'pro',
  rewrite: 'pro',
  expiresAt: 'pro',
  ios: 'pro',
  android: 'pro',
  geo: 'pro',
  doIndex: 'pro',
  folderId: 'pro',
  testVariants: 'business',
  trackConversion: 'business',
  webhookIds: 'business',
} as const satisfies Record<string, Plan>;

/** A requested or stored link whose features are checked against the plan. */
export type GatedLink = Readonly<Partial<Record<keyof typeof GATED_FIELDS, unknown>>> & {
  readonly isRoot: boolean;
  readonly url: string;
};

/** Whether a field has a value: `null`, `false`, `''`, `[]` and `{}` do not count. */
function isRequested(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/**
 * Checks that the plan includes every feature of the link (docs/reference/plans.md).
 *
 * @throws ApiError forbidden for the first that it lacks
 */
export function checkPlan(plan: Plan, link: GatedLink): void {
  for (const [field, minimum] of Object.entries(GATED_FIELDS)) {
    if (!isRequested(link[field as keyof typeof GATED_FIELDS]) || planAtLeast(plan, minimum)) continue;
    throw new ApiError('forbidden', `"${field}" needs the plan ${minimum} or higher.`);
  }
  if (link.isRoot && link.url !== '' && !planAtLeast(plan, 'pro')) {
    throw new ApiError('forbidden', 'A destination for the root of a domain needs the plan pro or higher.');
  }
}
