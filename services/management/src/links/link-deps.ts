import type { LinkRuleDeps } from '@waymark/link-rules';
import type { WebhookNotifier } from '@waymark/webhooks';

/** Dependencies of the operations on links. */
export interface LinkDeps extends LinkRuleDeps {
  /** Queues webhook events for links that are created, updated or deleted one at a time; bulk requests send no webhooks. */
  readonly notifier: WebhookNotifier;
}
