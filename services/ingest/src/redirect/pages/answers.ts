import { headerUrl } from '../address/final-url.js';
import type { Page } from './html.js';

/** An answer on the link port. */
export interface LinkAnswer {
  readonly status: number;
  /** Names and values in turn, as Node takes them. */
  readonly headers: string[];
  readonly body: string;
}

export function pageAnswer(page: Page, headers: readonly string[]): LinkAnswer {
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

export function sendAnswer(status: number, to: string, headers: string[]): LinkAnswer {
  headers.push('location', headerUrl(to));
  return { status, headers, body: '' };
}

/** A file of the domain's owner, read by app stores. */
export function fileAnswer(json: string, headers: readonly string[]): LinkAnswer {
  const all = [...headers, 'content-type', 'application/json', 'x-content-type-options', 'nosniff'];
  return { status: 200, headers: all, body: json };
}
