import type { IncomingHttpHeaders } from 'node:http';
import type { Catalog, LinkRecord } from '@waymark/catalog';
import type { EventProducer } from '@waymark/event-queue';
import { requestId } from '@waymark/http-kit';
import type { VisitReader } from '@waymark/visit';
import type { Admission } from '../admission.js';
import type { AppOpens } from '../app-opens.js';
import type { FreshClicks } from '../fresh-clicks.js';
import { freshLinkAt, linkAt } from '../link-at.js';
import { finalDestination, headerUrl, redirectTarget } from './address/final-url.js';
import { visitedPath } from './address/link-path.js';
import { queryWithout } from './address/query-pieces.js';
import { readShortAddress, type ShortAddress } from './address/short-address.js';
import { createClickCounter } from './click-counter.js';
import { fileAnswer, type LinkAnswer, pageAnswer, sendAnswer } from './pages/answers.js';
import { framePage, launchPage } from './pages/link-pages.js';
import { NOT_FOUND_PAGE, UNAVAILABLE_PAGE } from './pages/pages.js';
import { secureAttribute } from './password/cookies.js';
import type { PasswordGate } from './password/password-gate.js';
import { arrivalOf, decidePath, NOT_FOUND, type Refusal } from './rules/decision.js';
import { clickCookie, preparedLink } from './rules/prepared-link.js';

export interface RedirectDeps {
  readonly catalog: {
    readonly links: Pick<Catalog['links'], 'findByAddress' | 'freshByAddress'>;
    readonly domains: Pick<Catalog['domains'], 'findBySlug'>;
  };
  readonly producer: Pick<EventProducer, 'recordClick'>;
  readonly readVisit: VisitReader;
  readonly admission: Pick<Admission, 'decide' | 'decideAtOnce'>;
  readonly passwords: Pick<PasswordGate, 'cookie'>;
  readonly appOpens: Pick<AppOpens, 'remember'>;
  readonly freshClicks: Pick<FreshClicks, 'add'>;
  /** Shared by all workspaces; search engines may index it. */
  readonly defaultDomain: string | undefined;
  readonly logger: { error(context: object, message: string): void };
  readonly now: () => number;
  /** At least 0, below 1: chooses variants of tests. */
  readonly random: () => number;
}

/** A request on the link port. */
export interface LinkRequest {
  readonly method: string;
  /** The request's target as it came. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string | undefined;
}

export interface Redirector {
  /** Answers a visit. Never rejects: what fails is logged, and the visitor sees a page that says so. */
  answer(request: LinkRequest): Promise<LinkAnswer>;
  /** Answers the form of a link's password; never rejects. */
  submit(request: LinkRequest, password: string): Promise<LinkAnswer>;
}

const NO_PARAMETERS = new URLSearchParams();

/** Answers visits of short links: every path of every domain. */
export function createRedirector(deps: RedirectDeps): Redirector {
  const { readVisit, admission, passwords, defaultDomain, logger, now, random } = deps;
  const { links, domains } = deps.catalog;
  const count = createClickCounter(deps);

  async function findDomain({ domain, host }: ShortAddress) {
    if (domain === '') return undefined;
    const record = await domains.findBySlug(domain);
    return record === undefined && host !== domain ? domains.findBySlug(host) : record;
  }

  async function carryOut(decision: Refusal, address: ShortAddress, headers: string[]): Promise<LinkAnswer> {
    switch (decision.action) {
      case 'send':
        return sendAnswer(302, decision.to, headers);
      case 'fall-back': {
        const to = (await findDomain(address))?.[decision.to];
        return to ? sendAnswer(302, to, headers) : pageAnswer(decision.otherwise, headers);
      }
      case 'file': {
        const text = (await findDomain(address))?.[decision.file];
        return text ? fileAnswer(text, headers) : pageAnswer(NOT_FOUND_PAGE, headers);
      }
      case 'page':
        return pageAnswer(decision.page, headers);
    }
  }

  function refuse(refusal: Refusal, address: ShortAddress, headers: string[], retryAfterSeconds: number | undefined) {
    if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds));
    return carryOut(refusal, address, headers);
  }

  async function visitLink(
    request: LinkRequest,
    address: ShortAddress,
    link: LinkRecord,
    headers: string[],
  ): Promise<LinkAnswer> {
    const { query } = address;
    const { cookie: cookies } = request.headers;
    const prepared = preparedLink(link);
    const parameters = query === '' ? NO_PARAMETERS : new URLSearchParams(query);
    const nowMs = now();
    const visit = readVisit({
      remoteAddress: request.remoteAddress,
      headers: request.headers,
      method: request.method,
      botParameter: parameters.get('bot') ?? undefined,
    });
    // Nearly every visit: without a wait, which others would be answered in.
    const { refusal, isPasswordRight, retryAfterSeconds } =
      admission.decideAtOnce(link) ??
      (await admission.decide(link, { cookies, given: parameters.get('pw'), address: visit.clientAddress }));
    if (refusal !== undefined) return refuse(refusal, address, headers, retryAfterSeconds);
    const isUntracked = parameters.has('dub-no-track');
    const isTracked = !isUntracked && request.headers['dub-no-track'] === undefined;
    const counted = { prepared, visit, nowMs, isTracked, isScan: parameters.get('qr') === '1' };
    const path = address.rawPath === prepared.rawPath ? prepared.path : visitedPath(link, address.rawPath);
    const secure = secureAttribute(visit);

    const arrival = arrivalOf(prepared, { visit, nowMs, cookies, random });
    if (arrival.action === 'show') {
      const { clickId } = await count({ ...counted, url: link.url });
      if (isTracked) headers.push('set-cookie', clickCookie(prepared, clickId, path, secure));
      return pageAnswer(arrival.page, headers);
    }

    const target = redirectTarget(arrival.target, parameters.get('redir_url'));
    const destination = finalDestination(target, { query, via: prepared.via, isPasswordRight });
    const { clickId, isKept } = await count({ ...counted, url: destination.recorded });
    // Whether the visit counts or not: the cookie is never read. Visits marked `dub-no-track` get none.
    if (isTracked) headers.push('set-cookie', clickCookie(prepared, clickId, path, secure));
    if (arrival.cookie !== undefined) headers.push('set-cookie', `${arrival.cookie}; Path=${path}${secure}`);
    if (arrival.isAppStore && isKept) deps.appOpens.remember(link, visit.clientAddress, clickId);
    // Apps would take the id for a part of the number or message.
    const isPassed = prepared.passesClickId && !isUntracked && arrival.manner !== 'launch';
    const url = isPassed ? destination.withClickId(clickId) : destination.url;
    if (arrival.manner === 'redirect') return sendAnswer(prepared.status, url, headers);
    const page = arrival.manner === 'launch' ? launchPage(headerUrl(url)) : framePage(link, headerUrl(url));
    return pageAnswer(page, headers);
  }

  /** The link itself does what its visits do, once the browser holds the cookie. */
  async function open(
    request: LinkRequest,
    address: ShortAddress,
    link: LinkRecord,
    password: string,
    headers: string[],
  ): Promise<LinkAnswer> {
    const { method, headers: sent, remoteAddress } = request;
    const visit = readVisit({ remoteAddress, headers: sent, method });
    const keys = { cookies: sent.cookie, given: password, address: visit.clientAddress };
    const { refusal, retryAfterSeconds } = await admission.decide(link, keys);
    if (refusal !== undefined) return refuse(refusal, address, headers, retryAfterSeconds);
    const path = visitedPath(link, address.rawPath);
    const { encryptedPassword } = link;
    if (encryptedPassword !== null) headers.push('set-cookie', passwords.cookie(link, path, secureAttribute(visit)));
    const query = queryWithout(address.query, 'pw');
    return sendAnswer(303, path + (query === '' ? '' : `?${query}`), headers);
  }

  async function answerWith(
    request: LinkRequest,
    serve: (address: ShortAddress, link: LinkRecord, headers: string[]) => Promise<LinkAnswer>,
  ): Promise<LinkAnswer> {
    try {
      const address = readShortAddress(request.headers.host, request.target);
      const decided = decidePath(address.path);
      const { key } = address;
      const link =
        decided === undefined ? (freshLinkAt(links, address, key) ?? (await linkAt(links, address, key))) : undefined;
      const headers = ['cache-control', 'no-store'];
      const isIndexed = link?.doIndex === true || address.domain === defaultDomain || address.host === defaultDomain;
      if (!isIndexed) headers.push('x-robots-tag', 'googlebot: noindex');
      if (link !== undefined) return await serve(address, link, headers);
      return await carryOut(decided ?? NOT_FOUND, address, headers);
    } catch (err) {
      logger.error(
        { err, requestId: requestId(request), host: request.headers.host },
        'a short link could not be opened',
      );
      return pageAnswer(UNAVAILABLE_PAGE, ['cache-control', 'no-store', 'retry-after', '1']);
    }
  }

  return {
    answer: (request) => answerWith(request, (address, link, headers) => visitLink(request, address, link, headers)),
    submit: (request, password) =>
      answerWith(request, (address, link, headers) => open(request, address, link, password, headers)),
  };
}
