import type { LinkRecord } from '@waymark/catalog';
import { htmlPage, type Page } from './html.js';

/** How a visit stands before a link with a password. */
export type LockState = 'open' | 'closed' | 'wrong' | 'blocked';

const STATUS = { closed: 401, wrong: 401, blocked: 429 } as const;
const TEXTS = {
  closed: 'This link opens only with its password.',
  wrong: 'That is not the password of this link.',
  blocked: 'Too many wrong passwords. Try again in a few minutes.',
} as const;

const FORM =
  '<form method="post"><input type="password" name="password" aria-label="Password" autocomplete="off" autofocus required maxlength="1000">' +
  '<button>Open</button></form>';

/** Browsers also ask the policy of the form where the redirects after it lead: to the web, or to what the link names. */
function formTargets({ url, ios, android, geo }: LinkRecord): string {
  const schemes = [url, ios ?? '', android ?? '', ...Object.values(geo ?? {})]
    .map((target) => /^[a-z][a-z0-9+.-]*:/i.exec(target)?.[0].toLowerCase())
    .filter((scheme) => scheme !== undefined);
  return ["'self'", ...new Set(['https:', 'http:', ...schemes])].join(' ');
}

/** The form that asks for a link's password. Of the link it shows nothing. */
export function passwordPage(link: LinkRecord, state: Exclude<LockState, 'open'>): Page {
  const title = 'Password required';
  const form = state === 'blocked' ? '' : FORM;
  return htmlPage(
    STATUS[state],
    { title, body: `<main><h1>${title}</h1><p>${TEXTS[state]}</p>${form}</main>` },
    { forms: formTargets(link) },
  );
}
