import type { Catalog, LinkRecord } from '@waymark/catalog';
import { ApiError, formatResourceId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { orNotRecorded } from '../not-recorded.js';
import type { ClickFinder } from './click-finder.js';
import { readClick } from './click-rows.js';

/** The link of a click. @throws ApiError not_found unless it exists in this workspace and is not disabled */
export async function linkOfClick(catalog: Catalog, workspaceId: string, click: EventRow): Promise<LinkRecord> {
  const linkId = formatResourceId('link', readClick(click).linkNumber);
  const link = await orNotRecorded('link look-up', catalog.links.get(workspaceId, linkId));
  if (link === undefined || link.disabledAt !== null) {
    throw new ApiError('not_found', `Link not found for the click "${readClick(click).clickId}".`);
  }
  return link;
}

/** The click with this id, and its link. @param isHeld see {@link ClickFinder.find} @throws ApiError not_found */
export async function findClickAndLink(
  catalog: Catalog,
  clicks: ClickFinder,
  workspaceId: string,
  clickId: string,
  isHeld = false,
): Promise<{ readonly click: EventRow; readonly link: LinkRecord }> {
  const click = await clicks.find(workspaceId, clickId, isHeld);
  return { click, link: await linkOfClick(catalog, workspaceId, click) };
}
