import type { LinkRecord } from '@waymark/catalog';
import { ROOT_KEY, trimCharacter } from '@waymark/contract';

/** Path of a short link. */
export function linkPath({ key }: Pick<LinkRecord, 'key'>): string {
  return key === ROOT_KEY ? '/' : encodeURI(`/${key}`);
}

/** Characters that are safe in a path, in a header and in a cookie attribute. */
const PLAIN_PATH = /^[\w.~!$&'()*+:@%/-]*$/;
/** Browsers ignore longer attributes of cookies. */
const PATH_CHARS_MAX = 1024;

/**
 * Path under which a link was visited, for its cookies and for redirects to itself. A link is found under its key in any case and encoding,
 * but browsers compare the paths of cookies byte by byte: they might not send back a cookie with the link's canonical path. The result never
 * starts with two slashes, which would lead to another host.
 *
 * @param rawPath of the visit, without the leading slash
 */
export function visitedPath(link: Pick<LinkRecord, 'key'>, rawPath: string): string {
  if (rawPath.length >= PATH_CHARS_MAX || !PLAIN_PATH.test(rawPath)) return linkPath(link);
  return `/${trimCharacter(rawPath, '/')}`;
}
