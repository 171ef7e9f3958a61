import type { ApiKeyRecord, Catalog, WorkspaceRecord } from '@waymark/catalog';
import type { WebhookNotifier } from '@waymark/webhooks';

/** Dependencies of the operations on links. */
export interface LinkDeps {
  readonly catalog: Catalog;
  /** The domain that every workspace may use. */
  readonly defaultDomain: string | undefined;
  /** Queues webhook events for links that are created, updated or deleted one at a time; bulk requests send no webhooks. */
  readonly notifier: WebhookNotifier;
  readonly now: () => number;
}

/** The workspace and API key of a request. */
export interface LinkCaller {
  readonly workspace: WorkspaceRecord;
  readonly apiKey: ApiKeyRecord;
}
