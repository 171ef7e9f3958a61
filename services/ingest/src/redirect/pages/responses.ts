import { headerUrl } from '../address/final-url.js';
import type { Page } from './html.js';

/** A response on the link port. */
export interface LinkResponse {
  readonly status: number;
  /** Alternating names and values, as Node's `writeHead` accepts them. */
  readonly headers: string[];
  readonly body: string | Buffer;
}

/** A page of Waymark, with the headers that restrict what it may load and reveal. @param headers further ones, which are kept */
export function pageResponse(page: Page, headers: readonly string[]): LinkResponse {
  return {
    status: page.status,
    headers: [
      ...headers,
      'content-type',
      'text/html; charset=utf-8',
      'content-security-policy',
      page.policy,
      'x-content-type-options',
      'nosniff',
      'referrer-policy',
      'no-referrer',
    ],
    body: page.html,
  };
}

/** @param to any URL; encoded where a header needs it @param headers further ones; `location` is added to this list */
export function redirectResponse(status: number, to: string, headers: string[]): LinkResponse {
  headers.push('location', headerUrl(to));
  return { status, headers, body: '' };
}

/** A file of the domain's owner, read by mobile operating systems. */
export function fileResponse(json: string, headers: readonly string[]): LinkResponse {
  const all = [...headers, 'content-type', 'application/json', 'x-content-type-options', 'nosniff'];
  return { status: 200, headers: all, body: json };
}
