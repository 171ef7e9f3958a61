import type { LinkListDeps } from '@waymark/record-lists';
import type { WebhookNotifier } from '@waymark/webhooks';

/** Dependencies of the operations on links. */
export interface LinkDeps extends LinkListDeps {
  /** Queues webhook events for links that are created, updated or deleted one at a time; bulk requests send no webhooks. */
  readonly notifier: WebhookNotifier;
  readonly now: () => number;
}
