import type { LinkRecord } from '@waymark/catalog';
import type { LinkDeps } from './link-deps.js';

/**
 * Runs what remains to be done after a link was stored. If that fails, the webhooks of the stored link are queued before the error is
 * thrown: a repeated request would find nothing to change, and queue none.
 *
 * @param stored undefined if nothing has changed
 */
export async function finishChange<T>(
  { notifier }: LinkDeps,
  event: 'link.created' | 'link.updated',
  stored: LinkRecord | undefined,
  finish: () => Promise<T>,
): Promise<T> {
  try {
    return await finish();
  } catch (err) {
    if (stored !== undefined) await notifier.linkChanged(event, stored);
    throw err;
  }
}
