import { normaliseKey } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, type Plan, planAtLeast, ROOT_KEY } from '@waymark/contract';

/** Features of a link and the smallest plan that has them (spec 4.3), in the order in which they are named to the caller. */
const GATED_FIELDS: Readonly<Partial<Record<keyof CreateLinkBody, Plan>>> = {
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
};

/** Whether the caller asks for something: `null`, `false`, `''`, `[]` and `{}` ask for nothing. */
export function isGiven(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** @throws ApiError forbidden for the first feature that the plan lacks */
export function checkPlan(plan: Plan, body: CreateLinkBody): void {
  for (const [field, minimum] of Object.entries(GATED_FIELDS)) {
    if (!isGiven(body[field as keyof CreateLinkBody]) || planAtLeast(plan, minimum)) continue;
    throw new ApiError('forbidden', `"${field}" needs the plan ${minimum} or higher.`);
  }
  const isRoot = body.key !== undefined && body.key !== null && normaliseKey(body.key) === ROOT_KEY;
  if (isRoot && body.url !== '' && !planAtLeast(plan, 'pro')) {
    throw new ApiError('forbidden', 'A destination for the root of a domain needs the plan pro or higher.');
  }
}
