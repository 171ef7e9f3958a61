/** The visitor follows the link to a destination, with the parameters of the visit; counts as a click. */
export interface Follow {
  readonly action: 'follow';
  readonly target: string;
  /** By redirect, by a page that opens an app (row 9), or in a frame (row 10). */
  readonly manner: 'redirect' | 'launch' | 'frame';
  /** The parameters that visits may add to the target, for the schemes of addresses and numbers; undefined = any. */
  readonly fields: ReadonlySet<string> | undefined;
  /** `Set-Cookie`, without its path, that assigns the visitor to this variant of an A/B test. */
  readonly cookie: string | undefined;
  /** The target is an app store: `POST /track/open` looks up this click on the app's first start. */
  readonly isAppStore: boolean;
}

const APP_SCHEMES = /^(?:mailto|sms|tel|tg|whatsapp|xmpp):/i;
const WEB = /^https?:\/\//i;
const APP_STORE =
  /^https?:\/\/(?:apps\.apple\.com|itunes\.apple\.com|play\.google\.com)(?:[/?#:]|$)|^(?:itms-apps|market):/i;

const NO_FIELDS: ReadonlySet<string> = new Set();
const MESSAGE_FIELDS: ReadonlySet<string> = new Set(['body']);

/** The parameters of schemes for addresses and numbers. Any other one would become part of the number, the address or the message. */
const FIELDS_OF: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['mailto', new Set(['to', 'cc', 'bcc', 'subject', 'body'])],
  ...['sms', 'smsto', 'mms', 'mmsto'].map((scheme) => [scheme, MESSAGE_FIELDS] as const),
  ...['tel', 'callto', 'facetime', 'facetime-audio', 'sip', 'sips', 'xmpp'].map(
    (scheme) => [scheme, NO_FIELDS] as const,
  ),
]);

function fieldsOf(url: string): ReadonlySet<string> | undefined {
  const scheme = url.slice(0, url.indexOf(':')).toLowerCase();
  // `sms:+1555&body=Hi`, the older form of iPhones, has no query: one would become a part of the text.
  return FIELDS_OF.get(scheme) === MESSAGE_FIELDS && /^[^?#]*&/.test(url) ? NO_FIELDS : FIELDS_OF.get(scheme);
}

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
  return { action: 'follow', target: url, manner, fields: fieldsOf(url), cookie, isAppStore: APP_STORE.test(url) };
}
