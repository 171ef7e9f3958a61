import type { IncomingHttpHeaders } from 'node:http';
import { type LinkRecord, normaliseKey, type PartnerRecord } from '@waymark/catalog';
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
import { asksForPrivacy, isPrefetch, type Visit, withoutIdentity } from '@waymark/visit';
import type { AppStoreClick } from '../../app-store-clicks.js';
import { clickProducer } from '../../click-producer.js';
import { findLinkAt } from '../../link-at.js';
import { isCountable, isDeletedClick, recordVisit, visitClaim } from '../../record-visit.js';
import { withoutClickId } from '../../redirect/address/final-url.js';
import { type HostNames, readHost, readShortAddress } from '../../redirect/address/short-address.js';
import { preparedLink } from '../../redirect/rules/prepared-link.js';
import { orNotRecorded } from '../not-recorded.js';
import type { TrackDeps } from '../track-deps.js';
import { checkHostname } from './allowed-hostnames.js';
import type { NetworkLimits } from './network-limits.js';

/** The parts of a request that a reported click is derived from. */
export interface ReportRequest {
  readonly remoteAddress: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** False when the request has `dub-no-track`. */
  readonly isTracked: boolean;
  readonly botParameter: string | undefined;
}

/** Events that browsers and apps report directly. All methods throw ApiError. */
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
  /** The page, recorded instead of the link's destination. */
  readonly page?: string | undefined;
  readonly referrer?: string | null | undefined;
  /** Apps have no page whose host could be checked, and no browser user agent for bot detection. */
  readonly isFromApp?: boolean;
}

const linkNotFound = () => new ApiError('not_found', 'Link not found.');

/**
 * The name of a partner for public pages. A partner who was enrolled without a name has the email address as name, which is not public. It is
 * replaced by the username or the part of the address before the `@`, from which the key of the partner's first link was made.
 */
function publicName({ name, email, username }: PartnerRecord): string {
  if (email === null || name.toLowerCase() !== email.toLowerCase()) return name;
  return username ?? email.slice(0, email.lastIndexOf('@'));
}

/** Parses a URL from a report. @throws ApiError not_found for an invalid URL, as no link can have it */
function parsedAddress(address: string): URL {
  const url = parseUrl(address);
  if (url === undefined) throw linkNotFound();
  return url;
}

/** The key in the path of a URL, which may be a page of a site whose own domain is also a short domain. Undefined for a path that is no key. */
function keyOf({ pathname }: URL): string | undefined {
  return readShortAddress(undefined, pathname.startsWith('/') ? pathname : `/${pathname}`).key;
}

/** The host names of a domain as scripts send it: a host, or any URL on it. */
function hostNames(domain: string): HostNames {
  const text = domain.includes('://') ? domain : `https://${domain}`;
  return readHost(parseUrl(text)?.host);
}

/** Creates the handlers of the reports (docs/reference/browser-script.md). */
export function createBrowserReports(deps: TrackDeps, limits: Pick<NetworkLimits, 'takeDailyEvents'>): BrowserReports {
  const { catalog, admission, freshClicks, readVisit, now } = deps;
  const erased = catalog.erasures.people;

  /** Finds a link that would admit a visit with this password. @throws ApiError not_found when there is none */
  async function findLink(
    names: HostNames,
    key: string | undefined,
    request: ReportRequest,
    password: string | null = null,
  ): Promise<LinkRecord> {
    const link = await orNotRecorded('link look-up', findLinkAt(catalog.links, names, key));
    if (link === undefined) throw linkNotFound();
    // The address serves only to limit wrong passwords.
    const address = link.encryptedPassword === null ? '' : readReport(request, undefined).clientAddress;
    const { refusal } = await admission.decide(link, { cookies: undefined, password, address });
    if (refusal !== undefined) throw linkNotFound();
    return link;
  }

  function readReport(request: ReportRequest, referrer: string | null | undefined): Visit {
    return readVisit({
      remoteAddress: request.remoteAddress,
      headers: request.headers,
      method: 'POST',
      botParameter: request.botParameter,
      // Empty for a page that was opened directly; the header of a script's request would name that page.
      referrer: referrer ?? undefined,
    });
  }

  /** Checks that the workspace accepts reports from this page, and the daily limit of the network. */
  async function checkAllowed(
    { link, isFromApp = false }: Report,
    request: ReportRequest,
    visit: Visit,
  ): Promise<void> {
    const workspace = await orNotRecorded('workspace look-up', catalog.workspaces.get(link.workspaceId));
    if (workspace === undefined) throw linkNotFound();
    if (!isFromApp) checkHostname(workspace.allowedHostnames, request.headers);
    await limits.takeDailyEvents(workspace, visit.clientAddress, 1);
  }

  const signalOf = (link: Pick<LinkRecord, 'workspaceId'>, { headers }: ReportRequest) =>
    asksForPrivacy(headers) ? admission.privacySignal(link) : 'ignore';

  /** Records a click of a visitor who asks not to be identified. Each report counts, and the URL of the page is recorded without parameters. */
  async function recordUnidentified(report: Report, request: ReportRequest, visit: Visit): Promise<void> {
    const { link, trigger, page } = report;
    await checkAllowed(report, request, visit);
    const url = page === undefined ? withoutClickId(link.url) : (page.split(/[?#]/, 1)[0] ?? '');
    const details = { trigger, url, nowMs: now(), isPassedOn: false, erased };
    const producer = await clickProducer(deps, link.workspaceId);
    await recordVisit(producer, preparedLink(link), withoutIdentity(visit), details).click;
  }

  /**
   * Records the report as a click and returns its id; `''` for a visitor with a privacy signal, and for a page that a browser prerenders: it would
   * store the id. A robot, or a visit with `dub-no-track`, gets an unrecorded id.
   */
  async function record(report: Report, request: ReportRequest): Promise<string> {
    const { link, trigger, page = link.url, isFromApp = false } = report;
    const nowMs = now();
    const read = readReport(request, report.referrer);
    const visit = isFromApp ? { ...read, isBot: false } : read;
    const signal = await signalOf(link, request);
    if (signal !== 'ignore') {
      if (signal === 'no-id' && isCountable(visit, request.isTracked)) await recordUnidentified(report, request, visit);
      return '';
    }
    if (!isCountable(visit, request.isTracked)) return visit.isPrefetch ? '' : createEventId(nowMs);
    const prepared = preparedLink(link);
    const producer = await clickProducer(deps, link.workspaceId);
    // While Redis is unavailable the click is spooled to disk, as if the visitor were new.
    const recent = await producer.findRecentClick(visitClaim(prepared, visit)).catch(() => undefined);
    if (recent !== undefined && !isDeletedClick(erased, link.workspaceId, recent)) return recent;
    await checkAllowed(report, request, visit);
    const details = { trigger, url: withoutClickId(page), nowMs, isPassedOn: true, erased };
    const recording = recordVisit(producer, prepared, visit, details);
    const { clickId, isNew } = await recording.click;
    if (isNew) freshClicks.add(clickId, recording.rowText);
    return clickId;
  }

  /** The partner whose link brought the visitor, for display on the page. */
  async function partnerOf({
    workspaceId,
    programId,
    partnerId,
  }: LinkRecord): Promise<Omit<TrackClickResponse, 'clickId'>> {
    if (programId === null || partnerId === null) return {};
    const partner = await orNotRecorded('partner look-up', catalog.partners.get(workspaceId, partnerId));
    if (partner === undefined) return {};
    const { id, image, groupId, tenantId } = partner;
    const optional = { ...(groupId === null ? {} : { groupId }), ...(tenantId === null ? {} : { tenantId }) };
    return { partner: { id, name: publicName(partner), image, ...optional }, discount: null };
  }

  /** Finds a recent click from this address that led to an app store. The domain may be registered with or without its port. */
  async function findAppStoreClick({ domain, host }: HostNames, address: string): Promise<AppStoreClick | undefined> {
    const click = await deps.appStoreClicks.find(domain, address);
    return click === undefined && host !== domain ? deps.appStoreClicks.find(host, address) : click;
  }

  /** The first start of an installed app, which has no link: finds the click that led the visitor to the app store. */
  async function firstOpen(names: HostNames, request: ReportRequest): Promise<TrackOpenResponse> {
    const { clientAddress } = readReport(request, undefined);
    const click = await orNotRecorded('click to an app store', findAppStoreClick(names, clientAddress));
    const isDeleted = click !== undefined && isDeletedClick(erased, click.workspaceId, click.clickId);
    const link = click && (await orNotRecorded('link look-up', catalog.links.get(click.workspaceId, click.linkId)));
    // The link may have been locked, disabled or expired since the click.
    const mayIdentify = link !== undefined && (await signalOf(link, request)) === 'ignore';
    const isOpen = mayIdentify && (await admission.isOpen(link));
    return click !== undefined && isOpen && !isDeleted
      ? { clickId: click.clickId, link: openedLink(link) }
      : { clickId: null, link: null };
  }

  const openedLink = ({ id, domain, key, url }: LinkRecord) => ({ id, domain, key, url });

  return {
    async click(body, request) {
      const link = await findLink(hostNames(body.domain), normaliseKey(body.key), request);
      // No partner for a prerendered page: its script repeats the call when shown, and older scripts would store the partner without an id.
      const partner = isPrefetch(request.headers) ? {} : await partnerOf(link);
      const page = body.url && parseUrl(body.url) !== undefined ? body.url : undefined;
      const clickId = await record({ link, trigger: 'link', page, referrer: body.referrer }, request);
      return { clickId, ...partner };
    },

    async open({ deepLink, dubDomain }, request) {
      if (!deepLink) return firstOpen(hostNames(dubDomain ?? ''), request);
      const opened = parsedAddress(deepLink);
      const link = await findLink(hostNames(deepLink), keyOf(opened), request, opened.searchParams.get('pw'));
      const clickId = await record({ link, trigger: 'deeplink', isFromApp: true }, request);
      return { clickId: clickId || null, link: openedLink(link) };
    },

    async visit({ domain, url, referrer }, request) {
      const link = await findLink(hostNames(domain), keyOf(parsedAddress(url)), request);
      return { clickId: await record({ link, trigger: 'pageview', page: url, referrer }, request) };
    },
  };
}
