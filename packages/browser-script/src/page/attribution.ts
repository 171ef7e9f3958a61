import { cookies, keepsFirstClick } from './settings.js';

const CLICK_COOKIE = 'dub_id';
const PARTNER_COOKIE = 'dub_partner_data';

/** The answer of `/track/click` and `/track/visit`. */
export interface Click {
  readonly clickId: string;
  readonly partner?: object | null;
  readonly discount?: object | null;
}

type PartnerData = Pick<Click, 'partner' | 'discount'>;

/** The stored click id; undefined when there is none. */
export const clickId = () => cookies.read(CLICK_COOKIE);

/**
 * Whether a click may replace the stored one: not with the attribution model `first-click`, nor if the click has no id, as for a
 * visitor who asks not to be tracked.
 *
 * @param id undefined if it is not known yet
 */
export const mayKeep = (id?: string) => !clickId() || clickId() === id || !(keepsFirstClick || id === '');

/** Whether a text from the address of the page may be stored as a click id: characters such as `;` would end the value of the cookie. */
export const isClickId = (text: string) => /^[\w.~-]{1,255}$/.test(text);

/** Browsers refuse a cookie of more than 4,096 bytes, and keep the earlier cookie. Older browsers also count its name and attributes. */
const COOKIE_CHARS_MAX = 3900;

/** Texts are encoded, because a name may contain `;`, which would end the value of the cookie. */
const encoded = (click: Click) =>
  JSON.stringify(click, (_key, value) => (typeof value === 'string' ? encodeURIComponent(value) : value));

/** Stores the id of a click, and its partner and discount for `useAnalytics()` on later pages. Returns what this page shows. */
export function keepClick({ clickId: id, partner = null, discount = null }: Click): PartnerData {
  if (!mayKeep(id)) return partnerData();
  if (isClickId(id)) {
    cookies.write(CLICK_COOKIE, id);
    // The click replaces a stored partner, even if its own link has none, or one that is too long: its image may be a data URL.
    if (partner || cookies.read(PARTNER_COOKIE)) {
      const texts = [partner, { ...partner, image: null }, null].map((kept) =>
        encoded({ clickId: id, partner: kept, discount }),
      );
      cookies.write(PARTNER_COOKIE, texts.find((text) => text.length < COOKIE_CHARS_MAX) ?? '{}');
    }
  }
  return { partner, discount };
}

/** The stored click with its partner and discount; undefined if what is stored is no JSON. */
export function storedClick(): Partial<Click> | undefined {
  try {
    return JSON.parse(cookies.read(PARTNER_COOKIE) ?? '{}', (_key, value) =>
      typeof value === 'string' ? decodeURIComponent(value) : value,
    );
  } catch {
    return undefined;
  }
}

/** The partner that brought the visitor, from this visit or an earlier one. */
export function partnerData(): PartnerData {
  const click = storedClick();
  return click ? { partner: click.partner ?? null, discount: click.discount ?? null } : {};
}
