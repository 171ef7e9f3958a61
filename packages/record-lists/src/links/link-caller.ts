import {
  type ApiKeyRecord,
  type Catalog,
  type LinkRecord,
  linkVisibility,
  type WorkspaceRecord,
} from '@waymark/catalog';

/** The workspace and API key of a request. */
export interface LinkCaller {
  readonly workspace: WorkspaceRecord;
  readonly apiKey: ApiKeyRecord;
}

/** The links that the caller may see, in the order given. */
export function visibleLinks(
  { hiddenFolders }: Pick<Catalog, 'hiddenFolders'>,
  { workspace, apiKey }: LinkCaller,
  links: readonly LinkRecord[],
): Promise<LinkRecord[]> {
  return hiddenFolders.seen(workspace.id, linkVisibility(apiKey), links);
}
