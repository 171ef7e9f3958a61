/** The visitor follows the link to a destination, with the parameters of the visit; counts as a click. */
export interface Follow {
  readonly action: 'follow';
  readonly target: string;
  /** By redirect, by a page that opens an app (row 9), or in a frame (row 10). */
  readonly manner: 'redirect' | 'launch' | 'frame';
  /** `Set-Cookie`, without its path, that assigns the visitor to this variant of an A/B test. */
  readonly cookie: string | undefined;
  /** The target is an app store: `POST /track/open` looks up this click on the app's first start. */
  readonly isAppStore: boolean;
}

const APP_SCHEMES = /^(?:mailto|sms|tel|tg|whatsapp|xmpp):/i;
const WEB = /^https?:\/\//i;
const APP_STORE =
  /^https?:\/\/(?:apps\.apple\.com|itunes\.apple\.com|play\.google\.com)(?:[/?#:]|$)|^(?:itms-apps|market):/i;

/** Whether the scheme of a URL is http or https. */
export function isWebUrl(url: string): boolean {
  return WEB.test(url);
}

/**
 * The outcome that leads to a URL: the link's destination, a variant, or a target for a device or country (rows 9 to 14). Only http(s) URLs
 * are framed, because other schemes in a frame could run with the origin of the short link.
 *
 * @param isCloaked whether the link shows its destination in a frame
 */
export function destinationFor(url: string, isCloaked: boolean, cookie?: string): Follow {
  const manner = APP_SCHEMES.test(url) ? 'launch' : isCloaked && isWebUrl(url) ? 'frame' : 'redirect';
  return { action: 'follow', target: url, manner, cookie, isAppStore: APP_STORE.test(url) };
}
