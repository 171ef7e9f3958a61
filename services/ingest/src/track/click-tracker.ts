import type { IncomingHttpHeaders } from 'node:http';
import { type LinkRecord, normaliseKey } from '@waymark/catalog';
import { ApiError, createEventId, type TrackClickBody, type TrackClickResponse } from '@waymark/contract';
import type { Visit } from '@waymark/visit';
import { withoutWww } from '@waymark/visit';
import { isCountable, recordVisit, visitClaim } from '../record-visit.js';
import { finalDestination } from '../redirect/final-url.js';
import { preparedLink } from '../redirect/prepared-link.js';
import { checkHostname } from './allowed-hostnames.js';
import type { TrackDeps } from './track-deps.js';
import { orUnavailable } from './unavailable.js';

/** What of a request a reported click is read from. */
export interface ClickRequest {
  readonly remoteAddress: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Header or query parameter `dub-no-track`. */
  readonly isTracked: boolean;
  readonly botParameter: string | undefined;
}

export interface ClickTracker {
  /** @throws ApiError */
  track(body: TrackClickBody, request: ClickRequest): Promise<TrackClickResponse>;
}

/** A domain as scripts give it: a host, or any URL on it. */
function hostOf(domain: string): string {
  const text = domain.includes('://') ? domain : `https://${domain}`;
  return URL.canParse(text) ? withoutWww(new URL(text).hostname) : '';
}

/** `POST /track/click` (spec 6.2). */
export function createClickTracker(deps: TrackDeps): ClickTracker {
  const { catalog, producer, readVisit, now } = deps;

  async function findLink(body: TrackClickBody): Promise<LinkRecord> {
    const key = normaliseKey(body.key);
    const link = await orUnavailable('link look-up', catalog.links.findByAddress(hostOf(body.domain), key));
    if (link === undefined || link.disabledAt !== null) throw new ApiError('not_found', 'Link not found.');
    return link;
  }

  async function checkOrigin(link: LinkRecord, headers: IncomingHttpHeaders): Promise<void> {
    const workspace = await orUnavailable('workspace look-up', catalog.workspaces.get(link.workspaceId));
    if (workspace === undefined) throw new ApiError('not_found', 'Link not found.');
    checkHostname(workspace.allowedHostnames, headers);
  }

  /** The click that counts for this visitor already, when a new one may not be recorded. */
  async function rememberedOr(refusal: unknown, link: LinkRecord, visit: Visit): Promise<TrackClickResponse> {
    const clickId = await producer.rememberedClick(visitClaim(preparedLink(link), visit));
    if (clickId === undefined) throw refusal;
    return { clickId };
  }

  function destinationOf(link: LinkRecord, body: TrackClickBody): string {
    const url = body.url && URL.canParse(body.url) ? body.url : link.url;
    // Without the click id of an earlier visit, which the page's own address may carry.
    return finalDestination(url, { query: '', via: undefined, isPasswordRight: false }).recorded;
  }

  return {
    async track(body, request) {
      const link = await findLink(body);
      const nowMs = now();
      const visit = readVisit({
        remoteAddress: request.remoteAddress,
        headers: request.headers,
        method: 'POST',
        botParameter: request.botParameter,
        referrer: body.referrer || undefined,
      });
      if (!isCountable(visit, request.isTracked)) return { clickId: createEventId(nowMs) };
      try {
        await checkOrigin(link, request.headers);
      } catch (err) {
        return rememberedOr(err, link, visit);
      }
      const details = { trigger: 'link' as const, url: destinationOf(link, body), nowMs };
      const { clickId } = await recordVisit(producer, preparedLink(link), visit, details);
      return { clickId };
    },
  };
}
