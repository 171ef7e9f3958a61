import type { IncomingHttpHeaders } from 'node:http';
import type { Catalog, LinkRecord } from '@waymark/catalog';
import type { Logger, RequestIds } from '@waymark/http-kit';
import { asksForPrivacy, type VisitReader, withoutIdentity } from '@waymark/visit';
import type { Admission } from '../admission.js';
import type { AppStoreClicks } from '../app-store-clicks.js';
import type { ProducerDeps } from '../click-producer.js';
import type { FreshClicks } from '../fresh-clicks.js';
import { cachedLinkAt, findLinkAt } from '../link-at.js';
import { outageLog } from '../outage-log.js';
import { finalDestination, headerUrl, redirectTarget, withoutClickId } from './address/final-url.js';
import { leadsBack } from './address/leads-back.js';
import { visitedPath } from './address/link-path.js';
import { queryWithout } from './address/query-pieces.js';
import { readShortAddress, type ShortAddress } from './address/short-address.js';
import { createClickCounter } from './click-counter.js';
import { secureAttribute } from './cookies.js';
import { framePage, launchPage } from './pages/link-pages.js';
import { NOT_FOUND_PAGE, UNAVAILABLE_PAGE } from './pages/message-pages.js';
import { fileResponse, type LinkResponse, pageResponse, redirectResponse } from './pages/responses.js';
import type { PasswordGate } from './password/password-gate.js';
import { IMAGE_PATH, imageResponse, storedImage } from './preview-image.js';
import { decidePath, NOT_FOUND, type Refusal, visitOutcome } from './rules/decision.js';
import { clickCookie, preparedLink } from './rules/prepared-link.js';

export interface RedirectDeps {
  readonly catalog: {
    readonly links: Pick<Catalog['links'], 'findByAddress' | 'freshByAddress'>;
    readonly domains: Pick<Catalog['domains'], 'findBySlug'>;
    readonly queueShards: Catalog['queueShards'];
    readonly erasures: Pick<Catalog['erasures'], 'people'>;
  };
  readonly producers: ProducerDeps['producers'];
  readonly readVisit: VisitReader;
  readonly admission: Pick<Admission, 'decide' | 'decideFromCache' | 'isOpen' | 'privacySignal'>;
  readonly passwords: Pick<PasswordGate, 'cookie'>;
  readonly appStoreClicks: Pick<AppStoreClicks, 'record'>;
  readonly freshClicks: Pick<FreshClicks, 'add'>;
  /** The domain that all workspaces share. Search engines may index its links. */
  readonly defaultDomain: string | undefined;
  readonly logger: Pick<Logger, 'error' | 'warn'>;
  readonly requestIds: RequestIds;
  readonly now: () => number;
  /** Random number in [0, 1), for choosing variants of A/B tests. */
  readonly random: () => number;
}

/** A request on the link port. */
export interface LinkRequest {
  readonly method: string;
  /** The raw request target. */
  readonly target: string;
  /** `host` is that of the target, if it was in absolute form. */
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string | undefined;
}

export interface Redirector {
  /** Handles a visit. Never rejects: errors are logged, and the visitor gets an error page. */
  answer(request: LinkRequest): Promise<LinkResponse>;
  /** Handles the password form of a link; never rejects. */
  submit(request: LinkRequest, password: string): Promise<LinkResponse>;
  /** Answers with the stored image of a link's preview. The target begins with {@link IMAGE_PATH}. Never rejects, and counts no click. */
  image(request: LinkRequest): Promise<LinkResponse>;
}

const NO_PARAMETERS = new URLSearchParams();
const NO_INDEX = ['x-robots-tag', 'googlebot: noindex'];

/** Handles visits of short links: every path of every domain. */
export function createRedirector(deps: RedirectDeps): Redirector {
  const { readVisit, admission, passwords, defaultDomain, logger, requestIds, now, random } = deps;
  const { links, domains } = deps.catalog;
  const count = createClickCounter(deps);
  const logUnavailable = outageLog((context, message) => logger.error(context, message));

  async function findDomain({ domain, host }: ShortAddress) {
    if (domain === '') return undefined;
    const record = await domains.findBySlug(domain);
    return record === undefined && host !== domain ? domains.findBySlug(host) : record;
  }

  /** The domain's URL for the refusal. The one for expired links applies to links of its own workspace only, also on the default domain. */
  async function domainUrl(
    field: 'notFoundUrl' | 'expiredUrl',
    address: ShortAddress,
    link: LinkRecord | undefined,
  ): Promise<string | null | undefined> {
    const record = await findDomain(address);
    return field === 'expiredUrl' && record?.workspaceId !== link?.workspaceId ? undefined : record?.[field];
  }

  async function respondTo(
    decision: Refusal,
    { headers: { host } }: LinkRequest,
    address: ShortAddress,
    link: LinkRecord | undefined,
    headers: string[],
  ): Promise<LinkResponse> {
    switch (decision.action) {
      case 'send':
        return redirectResponse(302, decision.to, headers);
      case 'fall-back': {
        const to = decision.url ?? (await domainUrl(decision.to, address, link));
        return to && !leadsBack(to, host, address)
          ? redirectResponse(302, to, headers)
          : pageResponse(decision.otherwise, headers);
      }
      case 'file': {
        const text = (await findDomain(address))?.[decision.file];
        return text ? fileResponse(text, headers) : pageResponse(NOT_FOUND_PAGE, headers);
      }
      case 'page':
        return pageResponse(decision.page, headers);
    }
  }

  function respondToRefusal(
    refusal: Refusal,
    request: LinkRequest,
    address: ShortAddress,
    link: LinkRecord,
    headers: string[],
    retryAfterSeconds: number | undefined,
  ) {
    // A link that answers as if it did not exist must not differ from a missing one.
    if (refusal === NOT_FOUND) return respondTo(refusal, request, address, link, headersFor(address, undefined));
    if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds));
    return respondTo(refusal, request, address, link, headers);
  }

  async function visitLink(
    request: LinkRequest,
    address: ShortAddress,
    link: LinkRecord,
    headers: string[],
  ): Promise<LinkResponse> {
    const { query } = address;
    const { cookie: cookies } = request.headers;
    const prepared = preparedLink(link);
    const parameters = query === '' ? NO_PARAMETERS : new URLSearchParams(query);
    const nowMs = now();
    const read = readVisit({
      remoteAddress: request.remoteAddress,
      headers: request.headers,
      method: request.method,
      botParameter: parameters.get('bot') ?? undefined,
    });
    // Nearly always synchronous. `await` would suspend the visit and let other requests run first.
    const { refusal, isPasswordCorrect, retryAfterSeconds } =
      admission.decideFromCache(link) ??
      (await admission.decide(link, { cookies, password: parameters.get('pw'), address: read.clientAddress }));
    if (refusal !== undefined) return respondToRefusal(refusal, request, address, link, headers, retryAfterSeconds);
    const signal = asksForPrivacy(request.headers) ? await admission.privacySignal(link) : 'ignore';
    const isIdentified = signal === 'ignore';
    const visit = isIdentified ? read : withoutIdentity(read);
    // `dub-no-track` as parameter or header prevents click and cookies; the parameter also keeps the id out of the destination.
    const isUntracked = signal === 'no-track' || parameters.has('dub-no-track');
    const isTracked = !isUntracked && request.headers['dub-no-track'] === undefined;
    const counted = { prepared, visit, nowMs, isTracked, isIdentified, isScan: parameters.get('qr') === '1' };
    const hasCookies = isTracked && isIdentified;
    const path = address.rawPath === prepared.rawPath ? prepared.path : visitedPath(link, address.rawPath);
    const secure = secureAttribute(visit);

    const outcome = visitOutcome(prepared, { visit, nowMs, cookies, random });
    if (outcome.action === 'show') {
      const { clickId } = await count({ url: link.url, ...counted });
      if (hasCookies) headers.push('set-cookie', clickCookie(prepared, clickId, path, secure));
      return pageResponse(outcome.page, headers);
    }

    const target = redirectTarget(outcome.target, parameters.get('redir_url'));
    const { via } = prepared;
    const destination = finalDestination(target, { query, via, isPasswordCorrect, fields: outcome.fields });
    // The visitor's own parameters may identify them, so they are not recorded.
    const url = isIdentified ? destination.recorded : withoutClickId(outcome.target);
    const { clickId, isRecorded } = await count({ url, ...counted });
    // Set even when the visit does not count, because the server never reads this cookie.
    if (hasCookies) headers.push('set-cookie', clickCookie(prepared, clickId, path, secure));
    if (hasCookies && outcome.cookie !== undefined)
      headers.push('set-cookie', `${outcome.cookie}; Path=${path}${secure}`);
    if (outcome.isAppStore && isRecorded && isIdentified)
      deps.appStoreClicks.record(link, visit.clientAddress, clickId);
    // Not for URLs that a page opens in an app (row 9).
    // Nor for a prefetch, whose answer the browser may use later without another request: the id is not recorded, and leads would name it.
    const mayPass = isIdentified && !isUntracked && !visit.isPrefetch;
    const isPassed = prepared.passesClickId && mayPass && outcome.manner !== 'launch';
    const to = isPassed ? destination.withClickId(clickId) : destination.url;
    if (outcome.manner === 'redirect') return redirectResponse(prepared.status, to, headers);
    const page =
      outcome.manner === 'launch' ? launchPage(headerUrl(to)) : framePage(link, headerUrl(to), visit.isSecure);
    return pageResponse(page, headers);
  }

  /** Checks the submitted password, sets the cookie and redirects to the link itself, which then handles the visit. */
  async function checkPasswordForm(
    request: LinkRequest,
    address: ShortAddress,
    link: LinkRecord,
    password: string,
    headers: string[],
  ): Promise<LinkResponse> {
    const { method, headers: sent, remoteAddress } = request;
    const visit = readVisit({ remoteAddress, headers: sent, method });
    const credentials = { cookies: sent.cookie, password, address: visit.clientAddress };
    const { refusal, retryAfterSeconds } = await admission.decide(link, credentials);
    if (refusal !== undefined) return respondToRefusal(refusal, request, address, link, headers, retryAfterSeconds);
    const path = visitedPath(link, address.rawPath);
    const { encryptedPassword } = link;
    if (encryptedPassword !== null) headers.push('set-cookie', passwords.cookie(link, path, secureAttribute(visit)));
    const query = queryWithout(address.query, 'pw');
    return redirectResponse(303, path + (query === '' ? '' : `?${query}`), headers);
  }

  function robotsHeader({ domain, host }: ShortAddress, link: LinkRecord | undefined): readonly string[] {
    const isIndexed = link?.doIndex === true || domain === defaultDomain || host === defaultDomain;
    return isIndexed ? [] : NO_INDEX;
  }

  function headersFor(address: ShortAddress, link: LinkRecord | undefined): string[] {
    return ['cache-control', 'no-store', ...robotsHeader(address, link)];
  }

  function unavailable(request: LinkRequest, err: unknown): LinkResponse {
    const { headers } = request;
    logUnavailable(
      { err, requestId: requestIds(headers, request), host: headers.host },
      'a short link could not be opened',
    );
    return pageResponse(UNAVAILABLE_PAGE, ['cache-control', 'no-store', 'retry-after', '1']);
  }

  async function answerWith(
    request: LinkRequest,
    serve: (address: ShortAddress, link: LinkRecord, headers: string[]) => Promise<LinkResponse>,
  ): Promise<LinkResponse> {
    try {
      const address = readShortAddress(request.headers.host, request.target);
      const { key, path } = address;
      const refusal = decidePath(path, key);
      const link =
        refusal === undefined
          ? (cachedLinkAt(links, address, key) ?? (await findLinkAt(links, address, key)))
          : undefined;
      const headers = headersFor(address, link);
      if (link !== undefined) return await serve(address, link, headers);
      return await respondTo(refusal ?? NOT_FOUND, request, address, undefined, headers);
    } catch (err) {
      return unavailable(request, err);
    }
  }

  async function imageOf(request: LinkRequest): Promise<LinkResponse> {
    try {
      const { headers, target } = request;
      // The rest of the path is that of the link.
      const address = readShortAddress(headers.host, target.slice(IMAGE_PATH.length - 1));
      const link = cachedLinkAt(links, address, address.key) ?? (await findLinkAt(links, address, address.key));
      const stored = link === undefined ? undefined : storedImage(link);
      if (link === undefined || stored === undefined || !(await admission.isOpen(link)))
        return pageResponse(NOT_FOUND_PAGE, headersFor(address, undefined));
      return imageResponse(stored, headers['if-none-match'], robotsHeader(address, link));
    } catch (err) {
      return unavailable(request, err);
    }
  }

  return {
    answer: (request) => answerWith(request, (address, link, headers) => visitLink(request, address, link, headers)),
    submit: (request, password) =>
      answerWith(request, (address, link, headers) => checkPasswordForm(request, address, link, password, headers)),
    image: imageOf,
  };
}
