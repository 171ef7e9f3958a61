import { parseUrl, trimEndCharacter } from '@waymark/contract';
import {
  joinUrl,
  pieceName,
  queryPieces,
  readPiece,
  type SplitUrl,
  setPiece,
  splitUrl,
  writePiece,
} from './query-pieces.js';

/** What of a visit goes into the address the visitor is sent to. */
export interface PassThrough {
  /** Raw query of the short link, without `?`. */
  readonly query: string;
  /** Key of a partner's link, passed on as `via`. */
  readonly via: string | undefined;
  /** The query carries the link's right password, which must not travel on. */
  readonly isPasswordRight: boolean;
}

/** A destination with everything but the click id, which is known only once the click is recorded. */
export interface Destination {
  /** Where visitors are sent whose click id is not passed. */
  readonly url: string;
  /** The address to record: no click id in it, or every click would lead somewhere else. */
  readonly recorded: string;
  withClickId(clickId: string): string;
}

const CLICK_ID = 'dub_id';
const CLIENT_REFERENCE = 'client_reference_id';
/** Set to 1 in a destination by its owner: the click id is wanted in `client_reference_id`. */
const CLIENT_REFERENCE_WISH = 'dub_client_reference_id';

const NOT_PASSED_ON: ReadonlySet<string> = new Set(['dub-no-track', 'redir_url']);
const DROPPED_WHEN_ONE: ReadonlySet<string> = new Set(['qr', 'skip_deeplink_preview']);

function isWish(piece: string): boolean {
  const [name, value] = readPiece(piece);
  return name === CLIENT_REFERENCE_WISH && value === '1';
}

function isSpent(piece: string): boolean {
  const [name, value] = readPiece(piece);
  return value === '1' && DROPPED_WHEN_ONE.has(name);
}

/**
 * Every incoming parameter takes the place of the target's of the same name; of repeated ones all arrive. Linear: a query
 * may have tens of thousands of pieces.
 */
function overwrite(target: readonly string[], incoming: readonly string[]): string[] {
  const firstOf = new Map<string, string>();
  const isFirst = incoming.map((piece) => {
    const name = pieceName(piece);
    if (firstOf.has(name)) return false;
    firstOf.set(name, piece);
    return true;
  });
  const pieces: string[] = [];
  const placed = new Set<string>();
  for (const piece of target) {
    const name = pieceName(piece);
    const replacement = firstOf.get(name);
    if (replacement === undefined) pieces.push(piece);
    else if (!placed.has(replacement)) pieces.push(replacement);
    if (replacement !== undefined) placed.add(replacement);
  }
  incoming.forEach((piece, index) => {
    if (!isFirst[index] || !placed.has(piece)) pieces.push(piece);
  });
  return pieces;
}

function withPiece(split: SplitUrl, piece: string): string {
  return joinUrl({ ...split, pieces: setPiece(split.pieces, piece) });
}

/** The usual case, without splitting anything: a destination that says nothing about click ids. */
function append(url: string, piece: string): string {
  const hash = url.indexOf('#');
  const head = hash < 0 ? url : url.slice(0, hash);
  const joint = !head.includes('?') ? '?' : head.endsWith('?') || head.endsWith('&') ? '' : '&';
  return hash < 0 ? head + joint + piece : head + joint + piece + url.slice(hash);
}

function untouched(target: string): Destination {
  // Names may be written percent-encoded; then they have to be read one by one.
  const query = target.indexOf('?');
  const isPlain = query < 0 || !/dub_|client_reference_id|%/.test(target.slice(query));
  return {
    url: target,
    recorded: isPlain ? target : touched(splitUrl(target), []).recorded,
    withClickId: (id) =>
      isPlain ? append(target, `${CLICK_ID}=${id}`) : touched(splitUrl(target), []).withClickId(id),
  };
}

function touched(split: SplitUrl, incoming: readonly string[]): Destination {
  const names = new Set(incoming.map(pieceName));
  return {
    url: joinUrl(split),
    recorded: joinUrl({ ...split, pieces: split.pieces.filter((piece) => pieceName(piece) !== CLICK_ID) }),
    withClickId(clickId) {
      const wantsReference = split.pieces.some(isWish);
      const name = wantsReference ? CLIENT_REFERENCE : CLICK_ID;
      const pieces = split.pieces.filter((piece) => !isWish(piece));
      // A parameter of the visit beats ours as it beats the target's.
      if (names.has(name)) return joinUrl({ ...split, pieces });
      const value = wantsReference ? `dub_id_${clickId}` : clickId;
      return withPiece({ ...split, pieces }, writePiece(name, value));
    },
  };
}

/**
 * Where a visit leads: the target itself, byte for byte, when there is nothing to add; else the target with the visit's
 * parameters in its query. Pieces that are not touched keep their bytes either way.
 */
export function finalDestination(target: string, visit: PassThrough): Destination {
  const incoming = queryPieces(visit.query).filter((piece) => {
    const name = pieceName(piece);
    return !NOT_PASSED_ON.has(name) && !(visit.isPasswordRight && name === 'pw');
  });
  if (incoming.length === 0 && visit.via === undefined) return untouched(target);
  const split = splitUrl(target);
  const own = visit.via === undefined ? split.pieces : setPiece(split.pieces, writePiece('via', visit.via));
  const pieces = overwrite(own, incoming).filter((piece) => !isSpent(piece));
  return touched({ ...split, pieces }, incoming);
}

/** Schemes that `redir_url` may have, by that of the target: what is encrypted stays so. */
const SCHEMES_FROM: Readonly<Record<string, readonly string[]>> = {
  'https:': ['https:'],
  'http:': ['http:', 'https:'],
};

/**
 * The target that `redir_url` names, if it may: another page of the same web site, without a user's name in its address.
 * Anything else would be an open redirect.
 */
export function redirectTarget(target: string, redirUrl: string | null): string {
  // Nearly no visit names one: parsing the target for nothing would be a tenth of a redirect.
  if (redirUrl === null) return target;
  const wanted = parseUrl(redirUrl);
  const own = wanted && parseUrl(target);
  if (wanted === undefined || own === undefined) return target;
  const isAllowed =
    SCHEMES_FROM[own.protocol]?.includes(wanted.protocol) === true &&
    wanted.host === own.host &&
    wanted.username === '' &&
    wanted.password === '';
  return isAllowed ? wanted.href : target;
}

const INTERNATIONAL_HOST = /^[a-z][a-z0-9+.-]*:[\\/]{2}[^/?#\\]*[^\x21-\x7e/?#\\]/i;

/** An address as it may stand in a header: ASCII without spaces stays as it is, the rest is encoded. */
export function headerUrl(url: string): string {
  if (/^[\x21-\x7e]*$/.test(url)) return url;
  const ascii = INTERNATIONAL_HOST.test(url) ? (parseUrl(url)?.href ?? url) : url;
  // Through UTF-8, because half a surrogate pair cannot be encoded.
  return ascii.replace(/[^\x21-\x7e]+/g, (run) => encodeURI(Buffer.from(run).toString('utf8')));
}

/** Rows are at most 100 kB and carry the address up to three times, next to 20 kB of a lead's metadata. */
const RECORDED_BYTES_MAX = 24_000;

/** The address as it is recorded: one that would not fit into a row is cut at a parameter. */
export function recordedUrl(url: string): string {
  if (url.length * 3 <= RECORDED_BYTES_MAX || Buffer.byteLength(url) <= RECORDED_BYTES_MAX) return url;
  // The last character may be cut in two.
  const cut = trimEndCharacter(Buffer.from(url).subarray(0, RECORDED_BYTES_MAX).toString('utf8'), '\ufffd');
  const end = cut.lastIndexOf('&');
  return end > 0 ? cut.slice(0, end) : cut;
}
