import type { IncomingHttpHeaders } from 'node:http';
import { type LinkRecord, normaliseKey } from '@waymark/catalog';
import {
  ApiError,
  createEventId,
  parseUrl,
  type TrackClickBody,
  type TrackClickResponse,
  type TrackOpenBody,
  type TrackOpenResponse,
  type TrackVisitBody,
  type TrackVisitResponse,
  type Trigger,
} from '@waymark/contract';
import type { Visit } from '@waymark/visit';
import type { StoreClick } from '../../app-opens.js';
import { linkAt } from '../../link-at.js';
import { isCountable, recordVisit, visitClaim } from '../../record-visit.js';
import { finalDestination } from '../../redirect/address/final-url.js';
import { type HostNames, readHost, readShortAddress } from '../../redirect/address/short-address.js';
import { preparedLink } from '../../redirect/rules/prepared-link.js';
import type { TrackDeps } from '../track-deps.js';
import { orUnavailable } from '../unavailable.js';
import { checkHostname } from './allowed-hostnames.js';
import type { NetworkLimits } from './network-limits.js';

/** What of a request a reported click is read from. */
export interface ReportRequest {
  readonly remoteAddress: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Whether the caller did not ask for `dub-no-track`. */
  readonly isTracked: boolean;
  readonly botParameter: string | undefined;
}

/** What browsers and apps report themselves. Each throws ApiError. */
export interface BrowserReports {
  /** `POST /track/click`. */
  click(body: TrackClickBody, request: ReportRequest): Promise<TrackClickResponse>;
  /** `POST /track/open`. */
  open(body: TrackOpenBody, request: ReportRequest): Promise<TrackOpenResponse>;
  /** `POST /track/visit`. */
  visit(body: TrackVisitBody, request: ReportRequest): Promise<TrackVisitResponse>;
}

interface Report {
  readonly link: LinkRecord;
  readonly trigger: Trigger;
  /** Destination to record. */
  readonly url: string;
  readonly referrer?: string | null | undefined;
  /** Only pages have a host that can be checked, and only browsers an agent by which bots are detected. */
  readonly isFromApp?: boolean;
}

const linkNotFound = () => new ApiError('not_found', 'Link not found.');

/** The address in a report. @throws ApiError not_found for what is none: no link is there */
function parsedAddress(address: string): URL {
  const url = parseUrl(address);
  if (url === undefined) throw linkNotFound();
  return url;
}

/** The key in an address: that of a page, too, where a site's own domain is a short domain. */
function keyIn({ pathname }: URL): string | undefined {
  return readShortAddress(undefined, pathname.startsWith('/') ? pathname : `/${pathname}`).key;
}

/** A domain as scripts give it: a host, or any URL on it. */
function hostNames(domain: string): HostNames {
  const text = domain.includes('://') ? domain : `https://${domain}`;
  return readHost(parseUrl(text)?.host);
}

/** Without the click id of an earlier visit, which a page's own address may carry. */
function withoutClickId(url: string): string {
  return finalDestination(url, { query: '', via: undefined, isPasswordRight: false }).recorded;
}

export function createBrowserReports(deps: TrackDeps, limits: Pick<NetworkLimits, 'takeShare'>): BrowserReports {
  const { catalog, producer, admission, freshClicks, readVisit, now } = deps;

  /** A link that a visit with this password would not be let through to is not found. */
  async function findLink(
    names: HostNames,
    key: string | undefined,
    request: ReportRequest,
    password: string | null = null,
  ): Promise<LinkRecord> {
    const link = await orUnavailable('link look-up', linkAt(catalog.links, names, key));
    if (link === undefined) throw linkNotFound();
    const address = link.encryptedPassword === null ? '' : readReport(request, undefined).clientAddress;
    const { refusal } = await admission.decide(link, { cookies: undefined, given: password, address });
    if (refusal !== undefined) throw linkNotFound();
    return link;
  }

  function readReport(request: ReportRequest, referrer: string | null | undefined): Visit {
    return readVisit({
      remoteAddress: request.remoteAddress,
      headers: request.headers,
      method: 'POST',
      botParameter: request.botParameter,
      referrer: referrer || undefined,
    });
  }

  /** Refuses a report that the workspace does not take from this page or, for today, this network. */
  async function mayRecord({ link, isFromApp = false }: Report, request: ReportRequest, visit: Visit): Promise<void> {
    const workspace = await orUnavailable('workspace look-up', catalog.workspaces.get(link.workspaceId));
    if (workspace === undefined) throw linkNotFound();
    if (!isFromApp) checkHostname(workspace.allowedHostnames, request.headers);
    await limits.takeShare(workspace, visit.clientAddress, 1);
  }

  /** The id of the click that stands for the report. */
  async function record(report: Report, request: ReportRequest): Promise<string> {
    const { link, trigger, isFromApp = false } = report;
    const nowMs = now();
    const read = readReport(request, report.referrer);
    const visit = isFromApp ? { ...read, isBot: false } : read;
    if (!isCountable(visit, request.isTracked)) return createEventId(nowMs);
    const prepared = preparedLink(link);
    // While Redis is away the click is kept on disk, as that of a new visitor.
    const remembered = await producer.findRecentClick(visitClaim(prepared, visit)).catch(() => undefined);
    if (remembered !== undefined) return remembered;
    await mayRecord(report, request, visit);
    const details = { trigger, url: withoutClickId(report.url), nowMs };
    const recording = recordVisit(producer, prepared, visit, details);
    const { clickId, recorded } = await recording.click;
    if (recorded) freshClicks.add(clickId, recording.rowText);
    return clickId;
  }

  /** What a page shows of the partner whose link brought the visitor. */
  async function partnerOf({
    workspaceId,
    programId,
    partnerId,
  }: LinkRecord): Promise<Omit<TrackClickResponse, 'clickId'>> {
    if (programId === null || partnerId === null) return {};
    const partner = await orUnavailable('partner look-up', catalog.partners.get(workspaceId, partnerId));
    if (partner === undefined) return {};
    const { id, name, image, groupId, tenantId } = partner;
    const optional = { ...(groupId === null ? {} : { groupId }), ...(tenantId === null ? {} : { tenantId }) };
    return { partner: { id, name, image, ...optional }, discount: null };
  }

  /** The click to an app store from a link of the host, under whichever of its names the link has. */
  async function storeClick({ domain, host }: HostNames, address: string): Promise<StoreClick | undefined> {
    const click = await deps.appOpens.find(domain, address);
    return click === undefined && host !== domain ? deps.appOpens.find(host, address) : click;
  }

  async function firstOpen(names: HostNames, request: ReportRequest): Promise<TrackOpenResponse> {
    const { clientAddress } = readReport(request, undefined);
    const click = await orUnavailable('click to an app store', storeClick(names, clientAddress));
    const link = click && (await orUnavailable('link look-up', catalog.links.get(click.workspaceId, click.linkId)));
    // It may have been locked, disabled or expired since the click.
    const isOpen = link !== undefined && (await admission.isOpen(link));
    return click !== undefined && isOpen
      ? { clickId: click.clickId, link: openedLink(link) }
      : { clickId: null, link: null };
  }

  const openedLink = ({ id, domain, key, url }: LinkRecord) => ({ id, domain, key, url });

  return {
    async click(body, request) {
      const link = await findLink(hostNames(body.domain), normaliseKey(body.key), request);
      const partner = await partnerOf(link);
      const url = body.url && parseUrl(body.url) !== undefined ? body.url : link.url;
      const clickId = await record({ link, trigger: 'link', url, referrer: body.referrer }, request);
      return { clickId, ...partner };
    },

    async open({ deepLink, dubDomain }, request) {
      if (!deepLink) return firstOpen(hostNames(dubDomain ?? ''), request);
      const opened = parsedAddress(deepLink);
      const link = await findLink(hostNames(deepLink), keyIn(opened), request, opened.searchParams.get('pw'));
      const clickId = await record({ link, trigger: 'deeplink', url: link.url, isFromApp: true }, request);
      return { clickId, link: openedLink(link) };
    },

    async visit({ domain, url, referrer }, request) {
      const link = await findLink(hostNames(domain), keyIn(parsedAddress(url)), request);
      return { clickId: await record({ link, trigger: 'pageview', url, referrer }, request) };
    },
  };
}
