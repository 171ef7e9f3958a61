/**
 * Query strings as lists of raw pieces (`name=value`). Unaffected parameters keep their exact bytes, because parsing and serializing
 * would invalidate signed URLs.
 */

/** A URL, split so that {@link joinUrl} restores it. */
export interface SplitUrl {
  /** Everything before the query. */
  readonly base: string;
  /** The pieces between the `&`, including the empty one of `a=1&&b=2`. */
  readonly pieces: readonly string[];
  /** Starts with `#`, or is empty. */
  readonly fragment: string;
}

/** The pieces of a query (without its `?`) that are not empty. */
export function queryPieces(query: string): string[] {
  return query === '' ? [] : query.split('&').filter((piece) => piece !== '');
}

/** Splits a URL at its first `?` and `#`, without parsing or changing it. */
export function splitUrl(url: string): SplitUrl {
  const hash = url.indexOf('#');
  const head = hash < 0 ? url : url.slice(0, hash);
  const mark = head.indexOf('?');
  const query = mark < 0 ? '' : head.slice(mark + 1);
  return {
    base: mark < 0 ? head : head.slice(0, mark),
    pieces: query === '' ? [] : query.split('&'),
    fragment: hash < 0 ? '' : url.slice(hash),
  };
}

/** The URL of a {@link SplitUrl}; without pieces it has no `?`. */
export function joinUrl({ base, pieces, fragment }: SplitUrl): string {
  return pieces.length === 0 ? base + fragment : `${base}?${pieces.join('&')}${fragment}`;
}

/** Name and value of a piece, decoded as form data. */
export function readPiece(piece: string): readonly [name: string, value: string] {
  if (piece.includes('%') || piece.includes('+')) {
    for (const pair of new URLSearchParams(piece)) return pair;
  }
  const equals = piece.indexOf('=');
  return equals < 0 ? [piece, ''] : [piece.slice(0, equals), piece.slice(equals + 1)];
}

/** Name of a piece, decoded as form data. */
export function pieceName(piece: string): string {
  return readPiece(piece)[0];
}

/** A query without the pieces of one name. */
export function queryWithout(query: string, name: string): string {
  return queryPieces(query)
    .filter((piece) => pieceName(piece) !== name)
    .join('&');
}

/** `name=value` with the value encoded. */
export function writePiece(name: string, value: string): string {
  return `${name}=${encodeURIComponent(value)}`;
}

/** Appends pieces. A `&` at the end of the query serves as the separator, so that it is not doubled. */
export function addPieces(pieces: readonly string[], added: readonly string[]): string[] {
  const isOpen = pieces.at(-1) === '' && added.length > 0;
  return [...(isOpen ? pieces.slice(0, -1) : pieces), ...added];
}

/** Replaces all pieces of the same name with `piece`, at the position of the first one. */
export function setPiece(pieces: readonly string[], piece: string): string[] {
  const name = pieceName(piece);
  const first = pieces.findIndex((other) => pieceName(other) === name);
  if (first < 0) return addPieces(pieces, [piece]);
  return pieces.flatMap((other, index) => {
    if (index === first) return [piece];
    return pieceName(other) === name ? [] : [other];
  });
}
