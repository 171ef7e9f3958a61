import { ApiError, type Plan, planAtLeast } from '@waymark/contract';

/** Features of a link and the smallest plan that has them, in the order in which they are named to the caller. */
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

/** What a link has or is to have, given or stored. */
export type GatedLink = Readonly<Partial<Record<keyof typeof GATED_FIELDS, unknown>>> & {
  readonly isRoot: boolean;
  readonly url: string;
};

/** Whether something is asked for: `null`, `false`, `''`, `[]` and `{}` ask for nothing. */
function isGiven(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** @throws ApiError forbidden for the first feature that the plan lacks */
export function checkPlan(plan: Plan, link: GatedLink): void {
  for (const [field, minimum] of Object.entries(GATED_FIELDS)) {
    if (!isGiven(link[field as keyof typeof GATED_FIELDS]) || planAtLeast(plan, minimum)) continue;
    throw new ApiError('forbidden', `"${field}" needs the plan ${minimum} or higher.`);
  }
  if (link.isRoot && link.url !== '' && !planAtLeast(plan, 'pro')) {
    throw new ApiError('forbidden', 'A destination for the root of a domain needs the plan pro or higher.');
  }
}
