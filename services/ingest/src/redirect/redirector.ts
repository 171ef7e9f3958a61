import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Catalog, LinkRecord } from '@waymark/catalog';
import { createEventId } from '@waymark/contract';
import type { EventProducer } from '@waymark/event-queue';
import type { VisitReader } from '@waymark/visit';
import { isCountable, recordVisit } from '../record-visit.js';
import { DECISION_WITHOUT_LINK, type Decision, decideLink, decidePath, type LinkVisit } from './decision.js';
import { finalDestination, headerUrl, redirectTarget } from './final-url.js';
import { NOT_FOUND_PAGE, PAGE_HEADERS, type Page, UNAVAILABLE_PAGE } from './pages.js';
import { type PreparedLink, preparedLink } from './prepared-link.js';
import { readShortAddress, type ShortAddress } from './short-address.js';

export interface RedirectDeps {
  readonly catalog: {
    readonly links: Pick<Catalog['links'], 'findByAddress' | 'passwordOf'>;
    readonly domains: Pick<Catalog['domains'], 'findBySlug'>;
  };
  readonly producer: Pick<EventProducer, 'recordClick'>;
  readonly readVisit: VisitReader;
  /** Shared by all workspaces; search engines may index it. */
  readonly defaultDomain: string | undefined;
  readonly logger: { error(context: object, message: string): void };
  readonly now: () => number;
}

/** A request on the link port. */
export interface LinkRequest {
  readonly method: string;
  /** The request's target as it came. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string | undefined;
}

export interface LinkAnswer {
  readonly status: number;
  /** Names and values in turn, as Node takes them. */
  readonly headers: string[];
  readonly body: string;
}

export interface Redirector {
  /** Answers a visit. Never rejects: what fails is logged, and the visitor sees a page that says so. */
  answer(request: LinkRequest): Promise<LinkAnswer>;
}

const NO_PARAMETERS = new URLSearchParams();

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Compares in a time that tells nothing about the password. */
function isSamePassword(given: string | null, password: string | null): boolean {
  return given !== null && password !== null && timingSafeEqual(digest(given), digest(password));
}

function pageAnswer(page: Page, headers: readonly string[]): LinkAnswer {
  return { status: page.status, headers: [...headers, ...PAGE_HEADERS], body: page.html };
}

function sendAnswer(status: number, to: string, headers: string[]): LinkAnswer {
  headers.push('location', headerUrl(to));
  return { status, headers, body: '' };
}

/** Answers visits of short links: every path of every domain. */
export function createRedirector(deps: RedirectDeps): Redirector {
  const { producer, readVisit, defaultDomain, logger, now } = deps;
  const { links, domains } = deps.catalog;

  /** Domains that are served on an unusual port may carry it in their name. */
  async function findLink({ domain, host, key }: ShortAddress): Promise<LinkRecord | undefined> {
    if (key === undefined || domain === '') return undefined;
    const link = await links.findByAddress(domain, key);
    return link === undefined && host !== domain ? links.findByAddress(host, key) : link;
  }

  async function findDomain({ domain, host }: ShortAddress) {
    if (domain === '') return undefined;
    const record = await domains.findBySlug(domain);
    return record === undefined && host !== domain ? domains.findBySlug(host) : record;
  }

  async function carryOut(decision: Decision, address: ShortAddress, headers: string[]): Promise<LinkAnswer> {
    switch (decision.action) {
      case 'send':
        return sendAnswer(302, decision.to, headers);
      case 'fall-back': {
        const to = (await findDomain(address))?.[decision.to];
        return to ? sendAnswer(302, to, headers) : pageAnswer(decision.otherwise, headers);
      }
      case 'file': {
        const text = (await findDomain(address))?.[decision.file];
        if (!text) return pageAnswer(NOT_FOUND_PAGE, headers);
        return { status: 200, headers: [...headers, 'content-type', 'application/json'], body: text };
      }
      case 'page':
        return pageAnswer(decision.page, headers);
      case 'follow':
        throw new TypeError('a destination is followed with its link');
    }
  }

  /** The visit's click id: of the click recorded now or within the hour, else a new one that stands for nothing. */
  async function count(
    request: LinkRequest,
    prepared: PreparedLink,
    { visit, parameters, nowMs }: LinkVisit,
    url: string,
    headers: string[],
  ): Promise<string> {
    const isTracked = request.headers['dub-no-track'] === undefined && !parameters.has('dub-no-track');
    if (!isCountable(visit, isTracked)) return createEventId(nowMs);
    try {
      const trigger = parameters.get('qr') === '1' ? 'qr' : 'link';
      const { clickId } = await recordVisit(producer, prepared, visit, { trigger, url, nowMs });
      headers.push('set-cookie', prepared.cookieHead + clickId + prepared.cookieTail);
      return clickId;
    } catch (err) {
      // The visitor goes on whatever happens to the click.
      logger.error({ err, linkId: prepared.link.id }, 'a click could not be kept');
      return createEventId(nowMs);
    }
  }

  async function visitLink(
    request: LinkRequest,
    address: ShortAddress,
    link: LinkRecord,
    headers: string[],
  ): Promise<LinkAnswer> {
    const { query } = address;
    const prepared = preparedLink(link);
    const parameters = query === '' ? NO_PARAMETERS : new URLSearchParams(query);
    const visit = readVisit({
      remoteAddress: request.remoteAddress,
      headers: request.headers,
      method: request.method,
      botParameter: parameters.get('bot') ?? undefined,
    });
    const isPasswordRight =
      link.encryptedPassword !== null && isSamePassword(parameters.get('pw'), links.passwordOf(link));
    const linkVisit: LinkVisit = { link, visit, parameters, nowMs: now(), isPasswordRight };
    const decision = decideLink(linkVisit);
    if (decision.action === 'page' && decision.isClick) await count(request, prepared, linkVisit, link.url, headers);
    if (decision.action !== 'follow') return carryOut(decision, address, headers);

    const target = redirectTarget(decision.target, parameters.get('redir_url'));
    const destination = finalDestination(target, { query, via: prepared.via, isPasswordRight });
    const clickId = await count(request, prepared, linkVisit, destination.recorded, headers);
    const isPassed = prepared.passesClickId && !parameters.has('dub-no-track');
    return sendAnswer(prepared.status, isPassed ? destination.withClickId(clickId) : destination.url, headers);
  }

  return {
    async answer(request) {
      try {
        const address = readShortAddress(request.headers.host, request.target);
        const decided = decidePath(address.path);
        const link = decided === undefined ? await findLink(address) : undefined;
        const headers = ['cache-control', 'no-store'];
        const isIndexed = link?.doIndex === true || address.domain === defaultDomain || address.host === defaultDomain;
        if (!isIndexed) headers.push('x-robots-tag', 'googlebot: noindex');
        if (link !== undefined) return await visitLink(request, address, link, headers);
        return await carryOut(decided ?? DECISION_WITHOUT_LINK, address, headers);
      } catch (err) {
        logger.error({ err, host: request.headers.host }, 'a short link could not be opened');
        return pageAnswer(UNAVAILABLE_PAGE, ['cache-control', 'no-store', 'retry-after', '1']);
      }
    },
  };
}
