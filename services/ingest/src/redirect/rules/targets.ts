/** To a destination, with the visit's parameters; a click. */
export interface Follow {
  readonly action: 'follow';
  readonly target: string;
  /** By redirect, by a page that hands the address to an app (row 9), or in a frame (row 10). */
  readonly manner: 'redirect' | 'launch' | 'frame';
  /** `Set-Cookie`, but for its path, that keeps the visitor on this variant of a test. */
  readonly cookie: string | undefined;
  /** `POST /track/open` answers the click at the app's first start. */
  readonly isAppStore: boolean;
}

const LAUNCHED = /^(?:mailto|sms|tel|tg|whatsapp|xmpp):/i;
const WEB = /^https?:\/\//i;
const APP_STORE =
  /^https?:\/\/(?:apps\.apple\.com|itunes\.apple\.com|play\.google\.com)(?:[/?#:]|$)|^(?:itms-apps|market):/i;

export function isWebUrl(url: string): boolean {
  return WEB.test(url);
}

/** A redirect to `url`, whatever its scheme (rows 11 to 14). */
export function redirectTo(url: string): Follow {
  return { action: 'follow', target: url, manner: 'redirect', cookie: undefined, isAppStore: APP_STORE.test(url) };
}

/**
 * The link's own destination or a variant of it (rows 9, 10 and 14). Only web pages are framed: another scheme in a frame
 * could run in the short link's name.
 */
export function leadTo(url: string, isCloaked: boolean, cookie?: string): Follow {
  const manner = LAUNCHED.test(url) ? 'launch' : isCloaked && isWebUrl(url) ? 'frame' : 'redirect';
  return { ...redirectTo(url), manner, cookie };
}
