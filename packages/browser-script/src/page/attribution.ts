import { cookies, isFirstClick } from './settings.js';

const CLICK_COOKIE = 'dub_id';
const PARTNER_COOKIE = 'dub_partner_data';

/** The answer of `/track/click` and `/track/visit`. */
export interface Click {
  readonly clickId: string;
  readonly partner?: object;
  readonly discount?: object | null;
}

type PartnerData = Pick<Click, 'partner' | 'discount'>;

/** The stored click id; undefined when there is none. */
export const clickId = () => cookies.read(CLICK_COOKIE);

/** Whether a new click id may be stored: always, unless one is stored and the attribution model is `first-click`. */
export const mayReplace = () => !(isFirstClick && clickId());

/** Stores a click id. It may come from the address of the page, so characters such as `;`, which end a cookie's value, are refused. */
export function keepClickId(id: string): void {
  if (/^[\w.~-]{1,255}$/.test(id) && mayReplace()) cookies.write(CLICK_COOKIE, id);
}

/** Stores the id of a recorded click, and its partner and discount for the page and for `useAnalytics()`. */
export function keepClick({ clickId: id, partner, discount }: Click): void {
  if (!mayReplace()) return;
  keepClickId(id);
  // The click replaces a stored partner, even if its own link has none.
  if (!partner && !cookies.read(PARTNER_COOKIE)) return;
  // Texts are encoded, because a name may contain `;`, which would end the value of the cookie.
  const encoded = JSON.stringify({ clickId: id, partner, discount }, (_key, value) =>
    typeof value === 'string' ? encodeURIComponent(value) : value,
  );
  cookies.write(PARTNER_COOKIE, encoded);
}

/** The partner that brought the visitor, from this visit or an earlier one. */
export function partnerData(): PartnerData {
  try {
    const { partner = null, discount = null } = JSON.parse(cookies.read(PARTNER_COOKIE) ?? '{}', (_key, value) =>
      typeof value === 'string' ? decodeURIComponent(value) : value,
    );
    return { partner, discount };
  } catch {
    return {};
  }
}
