import { createHash, timingSafeEqual } from 'node:crypto';
import type { Catalog, LinkRecord } from '@waymark/catalog';
import { createEventId } from '@waymark/contract';
import type { EventProducer } from '@waymark/event-queue';
import type { VisitReader } from '@waymark/visit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isCountable, recordVisit } from '../record-visit.js';
import { DECISION_WITHOUT_LINK, type Decision, decideLink, decidePath, type LinkVisit } from './decision.js';
import { type Destination, finalDestination, headerUrl, redirectTarget } from './final-url.js';
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
  readonly now: () => number;
}

const NO_PARAMETERS = new URLSearchParams();
const ROBOTS = 'googlebot: noindex';

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Compares in a time that tells nothing about the password. */
function isSamePassword(given: string | null, password: string | null): boolean {
  return given !== null && password !== null && timingSafeEqual(digest(given), digest(password));
}

function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  return reply.code(page.status).headers(PAGE_HEADERS).send(page.html);
}

/** Short links: every path of every domain. The app must serve nothing else under GET. */
export async function redirectRoutes(app: FastifyInstance, deps: RedirectDeps): Promise<void> {
  const { catalog, producer, readVisit, defaultDomain, now } = deps;
  const { links, domains } = catalog;

  /** Domains that are served on an unusual port may carry it in their name. */
  async function findLink({ domain, host, key }: ShortAddress): Promise<LinkRecord | undefined> {
    if (key === undefined || domain === '') return undefined;
    const link = await links.findByAddress(domain, key);
    return link === undefined && host !== domain ? links.findByAddress(host, key) : link;
  }

  async function findDomain({ domain, host }: ShortAddress) {
    const record = await domains.findBySlug(domain);
    return record === undefined && host !== domain ? domains.findBySlug(host) : record;
  }

  async function carryOut(decision: Decision, address: ShortAddress, reply: FastifyReply): Promise<FastifyReply> {
    switch (decision.action) {
      case 'send':
        return reply.code(302).header('location', headerUrl(decision.to)).send();
      case 'fall-back': {
        const to = (await findDomain(address))?.[decision.to];
        return to ? reply.code(302).header('location', headerUrl(to)).send() : sendPage(reply, decision.otherwise);
      }
      case 'file': {
        const text = (await findDomain(address))?.[decision.file];
        return text ? reply.header('content-type', 'application/json').send(text) : sendPage(reply, NOT_FOUND_PAGE);
      }
      case 'page':
        return sendPage(reply, decision.page);
      case 'follow':
        throw new TypeError('a destination is followed with its link');
    }
  }

  /** The visit's click id: of the click recorded now or within the hour, else a new one that stands for nothing. */
  async function count(
    request: FastifyRequest,
    reply: FastifyReply,
    prepared: PreparedLink,
    linkVisit: LinkVisit,
    url: string,
  ): Promise<string> {
    const { visit, parameters, nowMs } = linkVisit;
    const isTracked = request.headers['dub-no-track'] === undefined && !parameters.has('dub-no-track');
    if (!isCountable(visit, isTracked)) return createEventId(nowMs);
    try {
      const trigger = parameters.get('qr') === '1' ? 'qr' : 'link';
      const { clickId } = await recordVisit(producer, prepared, visit, { trigger, url, nowMs });
      reply.header('set-cookie', prepared.cookieHead + clickId + prepared.cookieTail);
      return clickId;
    } catch (err) {
      // The visitor goes on whatever happens to the click.
      request.log.error({ err, linkId: prepared.link.id }, 'a click could not be kept');
      return createEventId(nowMs);
    }
  }

  function destinationOf(prepared: PreparedLink, linkVisit: LinkVisit, query: string, target: string): Destination {
    if (query === '') return finalDestination(target, { query, via: prepared.via, isPasswordRight: false });
    return finalDestination(redirectTarget(target, linkVisit.parameters.get('redir_url')), {
      query,
      via: prepared.via,
      isPasswordRight: linkVisit.isPasswordRight,
    });
  }

  async function visitLink(
    request: FastifyRequest,
    reply: FastifyReply,
    address: ShortAddress,
    link: LinkRecord,
  ): Promise<FastifyReply> {
    const prepared = preparedLink(link);
    const parameters = address.query === '' ? NO_PARAMETERS : new URLSearchParams(address.query);
    const visit = readVisit({
      remoteAddress: request.raw.socket.remoteAddress,
      headers: request.headers,
      method: request.method,
      botParameter: parameters.get('bot') ?? undefined,
    });
    const isPasswordRight =
      link.encryptedPassword !== null && isSamePassword(parameters.get('pw'), links.passwordOf(link));
    const linkVisit: LinkVisit = { link, visit, parameters, nowMs: now(), isPasswordRight };
    const decision = decideLink(linkVisit);
    if (decision.action === 'page' && decision.isClick) await count(request, reply, prepared, linkVisit, link.url);
    if (decision.action !== 'follow') return carryOut(decision, address, reply);

    const destination = destinationOf(prepared, linkVisit, address.query, decision.target);
    const clickId = await count(request, reply, prepared, linkVisit, destination.recorded);
    const isPassed = prepared.passesClickId && !parameters.has('dub-no-track');
    const location = isPassed ? destination.withClickId(clickId) : destination.url;
    return reply.code(prepared.status).header('location', headerUrl(location)).send();
  }

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const address = readShortAddress(request.headers.host, request.originalUrl);
    reply.header('cache-control', 'no-store');
    const decided = decidePath(address.path);
    const link = decided === undefined ? await findLink(address) : undefined;
    if (link?.doIndex !== true && address.domain !== defaultDomain) reply.header('x-robots-tag', ROBOTS);
    if (link !== undefined) return visitLink(request, reply, address, link);
    return carryOut(decided ?? DECISION_WITHOUT_LINK, address, reply);
  }

  app.setErrorHandler((err, request, reply) => {
    request.log.error({ err, host: request.headers.host }, 'short link failed');
    return sendPage(reply.header('retry-after', '1'), UNAVAILABLE_PAGE);
  });
  for (const url of ['/', '/*']) app.route({ method: ['GET', 'HEAD'], url, handler: answer });
}
