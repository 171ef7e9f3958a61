import type { WorkspaceRecord } from '@waymark/catalog';
import { checkKey, isServiceRoute, keyChars, type NewLink, normaliseKey, randomKey } from '@waymark/catalog';
import { ApiError, planAtLeast, ROOT_KEY } from '@waymark/contract';

/** Keys of at most so many characters, before they are encoded in punycode, need a paid plan on the default domain. */
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
  if (lookup === ROOT_KEY || isServiceRoute(lookup)) {
    throw new ApiError('conflict', `The key "${lookup}" is used by the service itself.`);
  }
  checkLength(lookup, workspace);
}

/**
 * Validates what the caller chose of a random key: the form of its prefix and, on the default domain, its length.
 *
 * @throws ApiError 422 or 403
 */
export function checkRandomKey(
  chosen: Pick<NewLink, 'prefix' | 'keyLength'>,
  workspace: WorkspaceRecord,
  isShared: boolean,
): void {
  const example = randomKey(chosen);
  checkKey(example, 'prefix');
  if (isShared) checkLength(example, workspace);
}

/** Checks the length of a key on the default domain. @throws ApiError forbidden for a short key on the free plan */
function checkLength(key: string, { plan }: WorkspaceRecord): void {
  if (keyChars(key) > SHORT_KEY_CHARS || planAtLeast(plan, 'pro')) return;
  throw new ApiError('forbidden', `Keys of ${SHORT_KEY_CHARS} characters or less need the plan pro or higher.`);
}
