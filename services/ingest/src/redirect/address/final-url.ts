import { parseUrl, trimEndCharacter, UTM_TEMPLATE_FIELDS } from '@waymark/contract';
import {
  addPieces,
  joinUrl,
  pieceName,
  queryPieces,
  readPiece,
  type SplitUrl,
  setPiece,
  splitUrl,
  writePiece,
} from './query-pieces.js';

/** The parts of a visit that are added to the destination URL. */
export interface PassThrough {
  /** Raw query of the short link, without `?`. */
  readonly query: string;
  /** Key of a partner link, added as `via`. */
  readonly via: string | undefined;
  /** The query contains the link's correct password, which must not be forwarded. */
  readonly isPasswordCorrect: boolean;
  /** Names of the only parameters that the target may get; undefined = any. */
  readonly fields?: ReadonlySet<string> | undefined;
}

/** The destination of a visit. The click id is added later, because it is known only once the click is recorded. */
export interface Destination {
  /** The URL for visitors whose click id is not passed. */
  readonly url: string;
  /** The URL to record. It contains no click id; otherwise every click would have a different URL. */
  readonly recorded: string;
  withClickId(clickId: string): string;
}

const CLICK_ID = 'dub_id';
const CLIENT_REFERENCE = 'client_reference_id';
/** The owner of a destination sets this parameter to 1 to get the click id in `client_reference_id`. */
const CLIENT_REFERENCE_FLAG = 'dub_client_reference_id';

const NOT_FORWARDED: ReadonlySet<string> = new Set(['dub-no-track', 'redir_url']);
const DROPPED_WHEN_ONE: ReadonlySet<string> = new Set(['qr', 'skip_deeplink_preview']);

function isClientReferenceFlag(piece: string): boolean {
  const [name, value] = readPiece(piece);
  return name === CLIENT_REFERENCE_FLAG && value === '1';
}

function isConsumedFlag(piece: string): boolean {
  const [name, value] = readPiece(piece);
  return value === '1' && DROPPED_WHEN_ONE.has(name);
}

/**
 * Every incoming parameter replaces the target's of the same name; repeated ones are all kept. Linear time, because a query may have
 * tens of thousands of pieces.
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
    // An empty piece is no parameter, not even one without a name.
    const replacement = piece === '' ? undefined : firstOf.get(pieceName(piece));
    if (replacement === undefined) pieces.push(piece);
    else if (!placed.has(replacement)) pieces.push(replacement);
    if (replacement !== undefined) placed.add(replacement);
  }
  return addPieces(
    pieces,
    incoming.filter((piece, index) => !isFirst[index] || !placed.has(piece)),
  );
}

function withPiece(split: SplitUrl, piece: string): string {
  return joinUrl({ ...split, pieces: setPiece(split.pieces, piece) });
}

/** The common case: a destination without parameters for click ids, which needs no splitting. */
function append(url: string, piece: string): string {
  const hash = url.indexOf('#');
  const head = hash < 0 ? url : url.slice(0, hash);
  const joint = !head.includes('?') ? '?' : head.endsWith('?') || head.endsWith('&') ? '' : '&';
  return hash < 0 ? head + joint + piece : head + joint + piece + url.slice(hash);
}

function unchangedDestination(target: string): Destination {
  // Percent-encoded names must be decoded one by one.
  const query = target.indexOf('?');
  const isPlain = query < 0 || !/dub_|client_reference_id|%/.test(target.slice(query));
  return {
    url: target,
    recorded: isPlain ? target : rewrittenDestination(splitUrl(target), []).recorded,
    withClickId: (id) =>
      isPlain ? append(target, `${CLICK_ID}=${id}`) : rewrittenDestination(splitUrl(target), []).withClickId(id),
  };
}

/** @param incoming the parameters of the visit, which replace those of the target */
function rewrittenDestination(target: SplitUrl, incoming: readonly string[]): Destination {
  const names = new Set(incoming.map(pieceName));
  const pieces = overwrite(target.pieces, incoming);
  return {
    url: joinUrl({ ...target, pieces }),
    recorded: joinUrl({ ...target, pieces: pieces.filter((piece) => pieceName(piece) !== CLICK_ID) }),
    withClickId(clickId) {
      // Only the target's own flag counts: one of the visit's must neither take the click id away nor bring it elsewhere.
      const own = target.pieces.filter((piece) => !isClientReferenceFlag(piece));
      const usesClientReference = own.length < target.pieces.length;
      const split = { ...target, pieces: usesClientReference ? overwrite(own, incoming) : pieces };
      const name = usesClientReference ? CLIENT_REFERENCE : CLICK_ID;
      // A parameter of the visit takes precedence over the click id and over the target's parameter.
      if (names.has(name)) return joinUrl(split);
      return withPiece(split, writePiece(name, usesClientReference ? `dub_id_${clickId}` : clickId));
    },
  };
}

function extendedDestination(target: string, incoming: readonly string[], via: string | undefined): Destination {
  if (incoming.length === 0 && via === undefined) return unchangedDestination(target);
  const split = splitUrl(target);
  const own = via === undefined ? split.pieces : setPiece(split.pieces, writePiece('via', via));
  return rewrittenDestination({ ...split, pieces: own }, incoming);
}

const UTM: ReadonlySet<string> = new Set(UTM_TEMPLATE_FIELDS);

/**
 * The URL of an address or number. It gets the fields of its scheme only, and loses the UTM parameters of the link, which would become a
 * part of the number or the message.
 */
function addressUrl(target: string, incoming: readonly string[], fields: ReadonlySet<string>): string {
  const split = splitUrl(target);
  const own = split.pieces.filter((piece) => !UTM.has(pieceName(piece)));
  const added = incoming.filter((piece) => fields.has(pieceName(piece).toLowerCase()));
  const isChanged = own.length < split.pieces.length || added.length > 0;
  return isChanged ? joinUrl({ ...split, pieces: overwrite(own, added) }) : target;
}

/**
 * The destination of a visit: the unchanged target when there is nothing to add, else the target with the visit's parameters in its
 * query. Everything else keeps its exact bytes either way.
 */
export function finalDestination(target: string, visit: PassThrough): Destination {
  const { via, fields } = visit;
  const incoming = queryPieces(visit.query).filter((piece) => {
    const name = pieceName(piece);
    return !NOT_FORWARDED.has(name) && !isConsumedFlag(piece) && !(visit.isPasswordCorrect && name === 'pw');
  });
  if (fields === undefined) return extendedDestination(target, incoming, via);
  const url = addressUrl(target, incoming, fields);
  // Recorded with all parameters, so that reports have the UTM values of the visit and the link.
  return { url, recorded: extendedDestination(target, incoming, via).recorded, withClickId: () => url };
}

/** Schemes that `redir_url` may have, by that of the target: HTTPS must not be downgraded. */
const SCHEMES_FROM: Readonly<Record<string, readonly string[]>> = {
  'https:': ['https:'],
  'http:': ['http:', 'https:'],
};

/**
 * The target from `redir_url` if it is allowed: another page of the same host, without credentials in the URL. Anything else would be
 * an open redirect.
 */
export function redirectTarget(target: string, redirUrl: string | null): string {
  // Almost no visit has one, and parsing the target needlessly would cost a tenth of a redirect.
  if (redirUrl === null) return target;
  const requested = parseUrl(redirUrl);
  const own = requested && parseUrl(target);
  if (requested === undefined || own === undefined) return target;
  const isAllowed =
    SCHEMES_FROM[own.protocol]?.includes(requested.protocol) === true &&
    requested.host === own.host &&
    requested.username === '' &&
    requested.password === '';
  return isAllowed ? requested.href : target;
}

const INTERNATIONAL_HOST = /^[a-z][a-z0-9+.-]*:[\\/]{2}[^/?#\\]*[^\x21-\x7e/?#\\]/i;

/** Encodes a URL for a header: visible ASCII stays unchanged, the rest is percent-encoded. */
export function headerUrl(url: string): string {
  if (/^[\x21-\x7e]*$/.test(url)) return url;
  const ascii = INTERNATIONAL_HOST.test(url) ? (parseUrl(url)?.href ?? url) : url;
  // Via UTF-8, because `encodeURI` throws for unpaired surrogates.
  return ascii.replace(/[^\x21-\x7e]+/g, (run) => encodeURI(Buffer.from(run).toString('utf8')));
}

/** Limit on a recorded URL. The row of a click is at most 100 kB, and contains the URL up to three times. */
const RECORDED_BYTES_MAX = 24_000;

/** The URL as it is recorded. A URL that is too long for a row is cut at the end of a parameter. */
export function recordedUrl(url: string): string {
  if (url.length * 3 <= RECORDED_BYTES_MAX || Buffer.byteLength(url) <= RECORDED_BYTES_MAX) return url;
  // The cut may split the last character.
  const cut = trimEndCharacter(Buffer.from(url).subarray(0, RECORDED_BYTES_MAX).toString('utf8'), '\ufffd');
  const end = cut.lastIndexOf('&');
  return end > 0 ? cut.slice(0, end) : cut;
}

/** The URL as it is recorded, without the click id of an earlier visit. */
export function withoutClickId(url: string): string {
  return finalDestination(url, { query: '', via: undefined, isPasswordCorrect: false }).recorded;
}
