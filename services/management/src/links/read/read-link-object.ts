import { type KeyCaller, type LinkRecord, linkVisibility } from '@waymark/catalog';
import type { Link } from '@waymark/contract';
import type { LinkDeps } from '../link-deps.js';

/** The link object of one record, for a caller. @param isNew whether the link was just created: then its counters are 0 and are not read */
export async function linkObjectFor(
  { catalog }: LinkDeps,
  { workspace, apiKey }: KeyCaller,
  record: LinkRecord,
  isNew = false,
): Promise<Link> {
  const [link] = await catalog.links.objects(workspace.id, [record], linkVisibility(apiKey), isNew);
  if (link === undefined) throw new TypeError('no link object for the record');
  return link;
}
