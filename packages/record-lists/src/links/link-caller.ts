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

/** Removes the links that the caller may not see (docs/reference/access.md); keeps the order of the others. */
export function visibleLinks(
  { hiddenFolders }: Pick<Catalog, 'hiddenFolders'>,
  { workspace, apiKey }: LinkCaller,
  links: readonly LinkRecord[],
): Promise<LinkRecord[]> {
  return hiddenFolders.visible(workspace.id, linkVisibility(apiKey), links);
}
