import { htmlPage, type Page } from './html.js';

/** State of a visit to a link with a password. */
export type LockState = 'open' | 'closed' | 'wrong' | 'blocked';

const STATUS = { closed: 401, wrong: 401, blocked: 429 } as const;
const TEXTS = {
  closed: 'This link opens only with its password.',
  wrong: 'That is not the password of this link.',
  blocked: 'Too many wrong passwords. Try again later.',
} as const;

const FORM =
  '<form method="post"><input type="password" name="password" aria-label="Password" autocomplete="off" autofocus required maxlength="1000">' +
  '<button>Open</button></form>';

function passwordPage(state: Exclude<LockState, 'open'>): Page {
  const title = 'Password required';
  const form = state === 'blocked' ? '' : FORM;
  return htmlPage(
    STATUS[state],
    { title, body: `<main><h1>${title}</h1><p>${TEXTS[state]}</p>${form}</main>` },
    { hasForm: true },
  );
}

/** The password pages; identical for every link, so that they reveal nothing about it. */
export const PASSWORD_PAGES: Readonly<Record<Exclude<LockState, 'open'>, Page>> = {
  closed: passwordPage('closed'),
  wrong: passwordPage('wrong'),
  blocked: passwordPage('blocked'),
};
