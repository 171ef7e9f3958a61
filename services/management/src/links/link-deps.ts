import type { ApiKeyRecord, Catalog, WorkspaceRecord } from '@waymark/catalog';
import type { WebhookNotifier } from '@waymark/webhooks';

/** What the operations on links work on. */
export interface LinkParts {
  readonly catalog: Catalog;
  /** The domain every workspace may use. */
  readonly defaultDomain: string | undefined;
  /** Notified of single links that were created, changed or removed; bulk requests send no webhooks. */
  readonly notifier: WebhookNotifier;
  readonly now: () => number;
}

/** Whose request it is. */
export interface LinkCaller {
  readonly workspace: WorkspaceRecord;
  readonly apiKey: ApiKeyRecord;
}
