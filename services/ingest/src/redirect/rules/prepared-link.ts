import type { LinkRecord } from '@waymark/catalog';
import { parseResourceId, ROOT_KEY } from '@waymark/contract';
import { linkPath } from '../address/link-path.js';
import { type LinkRules, linkRules } from './link-rules.js';

/** What every visit of a link needs and no visit changes. */
export interface PreparedLink extends LinkRules {
  readonly link: LinkRecord;
  /** `UInt64` as text. */
  readonly workspaceNumber: string;
  readonly linkNumber: string;
  /** The link's own path, and as most visits write it: without its first slash. */
  readonly path: string;
  readonly rawPath: string;
  /** `Set-Cookie` up to the click id, and after it for visits of the link's own path. */
  readonly cookieHead: string;
  readonly cookieTail: string;
  readonly status: 301 | 302;
  /** Key that partner links pass on. */
  readonly via: string | undefined;
  /** Whether the click id is added to the destination. */
  readonly passesClickId: boolean;
}

const COOKIE_SECONDS = 3600;

function cookieTailAt(path: string): string {
  return `; Path=${path}; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax`;
}

/** `Set-Cookie` with the click that stands for a visit of the path. @param secure as `secureAttribute` gives it */
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

/** The link's fixed part, worked out once for each copy the catalog keeps. */
export function preparedLink(link: LinkRecord): PreparedLink {
  let known = prepared.get(link);
  if (known === undefined) {
    known = prepare(link);
    prepared.set(link, known);
  }
  return known;
}
