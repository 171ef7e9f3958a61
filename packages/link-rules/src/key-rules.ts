import type { WorkspaceRecord } from '@waymark/catalog';
import { checkKey, normaliseKey } from '@waymark/catalog';
import { ApiError, planAtLeast, ROOT_KEY } from '@waymark/contract';

/** Keys that are refused on the default domain, because their links would look like pages of the service itself. */
const SERVICE_ROUTES: ReadonlySet<string> = new Set(
  'admin api app auth billing blog contact dashboard docs help home login logout oauth pricing privacy register settings sign-in sign-up signin signup status support terms webhooks www'.split(
    ' ',
  ),
);
/** Keys of at most this length need a paid plan on the default domain. */
const SHORT_KEY_CHARS = 3;

/**
 * Validates a key that the caller chose: its format and, on the default domain, the rules that protect it. Whether the key is taken is
 * checked when the link is created.
 *
 * @throws ApiError 422, 403 or 409
 */
export function checkChosenKey(key: string, workspace: WorkspaceRecord, isShared: boolean): void {
  checkKey(key);
  if (!isShared) return;
  const lookup = normaliseKey(key);
  if (lookup === ROOT_KEY || SERVICE_ROUTES.has(lookup)) {
    throw new ApiError('conflict', `The key "${lookup}" is used by the service itself.`);
  }
  checkShortKey(lookup.length, workspace);
}

/** Checks the length of a key on the default domain. @throws ApiError forbidden for a short key on the free plan */
export function checkShortKey(chars: number, { plan }: Pick<WorkspaceRecord, 'plan'>): void {
  if (chars > SHORT_KEY_CHARS || planAtLeast(plan, 'pro')) return;
  throw new ApiError('forbidden', `Keys of ${SHORT_KEY_CHARS} characters or less need the plan pro or higher.`);
}
