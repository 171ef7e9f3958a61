import type { LinkRecord } from '@waymark/catalog';
import { parseResourceId, ROOT_KEY } from '@waymark/contract';
import { linkPath } from '../address/link-path.js';
import { type LinkRules, linkRules } from './visit-rules.js';

/** Precomputed data of a link that is the same for every visit. */
export interface PreparedLink extends LinkRules {
  readonly link: LinkRecord;
  /** `UInt64` as text. */
  readonly workspaceNumber: string;
  readonly linkNumber: string;
  /** The link's path, with and without the leading slash. */
  readonly path: string;
  readonly rawPath: string;
  /** The parts of `Set-Cookie` before and after the click id, for visits under the link's own path. */
  readonly cookieHead: string;
  readonly cookieTail: string;
  readonly status: 301 | 302;
  /** The key, for partner links, which pass it on as `via`. */
  readonly via: string | undefined;
  /** Whether the click id is added to the destination. */
  readonly passesClickId: boolean;
}

const COOKIE_SECONDS = 3600;

function cookieTailAt(path: string): string {
  return `; Path=${path}; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax`;
}

/** `Set-Cookie` with the click id of a visit. @param secure the result of `secureAttribute` */
export function clickCookie(prepared: PreparedLink, clickId: string, path: string, secure: string): string {
  return prepared.cookieHead + clickId + (path === prepared.path ? prepared.cookieTail : cookieTailAt(path)) + secure;
}

function numberOf(kind: 'link' | 'workspace', id: string): string {
  const number = parseResourceId(kind, id);
  if (number === undefined) throw new TypeError(`not a ${kind} id: ${id}`);
  return number;
}

function prepare(link: LinkRecord): PreparedLink {
  const isRoot = link.key === ROOT_KEY;
  const isPartnerLink = link.programId !== null && link.partnerId !== null;
  const path = linkPath(link);
  return {
    link,
    path,
    rawPath: path.slice(1),
    workspaceNumber: numberOf('workspace', link.workspaceId),
    linkNumber: numberOf('link', link.id),
    cookieHead: `dub_id_${link.domain}_${link.key}=`,
    cookieTail: cookieTailAt(path),
    status: isRoot ? 301 : 302,
    via: isPartnerLink ? link.key : undefined,
    passesClickId: link.trackConversion || isPartnerLink,
    ...linkRules(link),
  };
}

const prepared = new WeakMap<LinkRecord, PreparedLink>();

/** The precomputed data of a link, cached per record of the catalog. */
export function preparedLink(link: LinkRecord): PreparedLink {
  let cached = prepared.get(link);
  if (cached === undefined) {
    cached = prepare(link);
    prepared.set(link, cached);
  }
  return cached;
}
