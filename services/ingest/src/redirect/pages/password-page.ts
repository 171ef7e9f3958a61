import { htmlPage, type Page } from './html.js';

/** State of a visit to a link with a password. */
export type LockState = 'open' | 'passwordRequired' | 'wrongPassword' | 'tooManyTries';

const STATUS = { passwordRequired: 401, wrongPassword: 401, tooManyTries: 429 } as const;
const TEXTS = {
  passwordRequired: 'This link opens only with its password.',
  wrongPassword: 'That is not the password of this link.',
  tooManyTries: 'Too many wrong passwords. Try again later.',
} as const;

const FORM =
  '<form method="post"><input type="password" name="password" aria-label="Password" autocomplete="off" autofocus required maxlength="1000">' +
  '<button>Open</button></form>';

function passwordPage(state: Exclude<LockState, 'open'>): Page {
  const title = 'Password required';
  const form = state === 'tooManyTries' ? '' : FORM;
  return htmlPage(
    STATUS[state],
    { title, body: `<main><h1>${title}</h1><p>${TEXTS[state]}</p>${form}</main>` },
    { hasForm: true },
  );
}

/** The password pages; identical for every link, so that they reveal nothing about it. */
export const PASSWORD_PAGES: Readonly<Record<Exclude<LockState, 'open'>, Page>> = {
  passwordRequired: passwordPage('passwordRequired'),
  wrongPassword: passwordPage('wrongPassword'),
  tooManyTries: passwordPage('tooManyTries'),
};
