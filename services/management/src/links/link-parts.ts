import type { ApiKeyRecord, Catalog, WorkspaceRecord } from '@waymark/catalog';

/** What the operations on links work on. */
export interface LinkParts {
  readonly catalog: Catalog;
  /** The domain every workspace may use. */
  readonly defaultDomain: string | undefined;
  readonly now: () => number;
}

/** Whose request it is. */
export interface LinkCaller {
  readonly workspace: WorkspaceRecord;
  readonly apiKey: ApiKeyRecord;
}
