import { type Catalog, type KeyCaller, type LinkRecord, linkVisibility } from '@waymark/catalog';

/** Removes the links that the caller may not see (docs/reference/access.md); keeps the order of the others. */
export function visibleLinks(
  { hiddenFolders }: Pick<Catalog, 'hiddenFolders'>,
  { workspace, apiKey }: KeyCaller,
  links: readonly LinkRecord[],
): Promise<LinkRecord[]> {
  return hiddenFolders.visible(workspace.id, linkVisibility(apiKey), links);
}
