import type { LinkRecord } from '@waymark/catalog';
import { ROOT_KEY, trimCharacter } from '@waymark/contract';

/** Path of a link's own address. */
export function linkPath({ key }: Pick<LinkRecord, 'key'>): string {
  return key === ROOT_KEY ? '/' : encodeURI(`/${key}`);
}

/** What may stand in a path and in a header, and ends no attribute of a cookie. */
const PLAIN_PATH = /^[\w.~!$&'()*+:@%/-]*$/;
/** Browsers ignore longer attributes of cookies. */
const PATH_CHARS_MAX = 1024;

/**
 * Path of a link as it was visited, for its cookies and for redirects to itself. Browsers compare paths letter by letter,
 * and a link is found in any case and script: under its own path its cookies would not come back. Never starts with two
 * slashes, which would lead to another host.
 *
 * @param rawPath of the visit, without its first slash
 */
export function visitedPath(link: Pick<LinkRecord, 'key'>, rawPath: string): string {
  if (rawPath.length >= PATH_CHARS_MAX || !PLAIN_PATH.test(rawPath)) return linkPath(link);
  return `/${trimCharacter(rawPath, '/')}`;
}
