const TAGS = /(?:W\/)?"[^"]*"|\*/g;

/** The entity tags in a header `If-Match` or `If-None-Match` (RFC 9110). `*` stands for any. */
export function entityTagsOf(header: string): readonly string[] {
  return header.match(TAGS) ?? [];
}

/**
 * Whether the client has one of the representations already, so that the answer is 304. The comparison is weak: `W/` does not count.
 *
 * @param ifNoneMatch the header of that name
 * @param etags in double quotes, without `W/`
 */
export function isNoneMatchHit(ifNoneMatch: string | undefined, etags: readonly string[]): boolean {
  return entityTagsOf(ifNoneMatch ?? '').some((tag) => tag === '*' || etags.includes(tag.replace(/^W\//, '')));
}
