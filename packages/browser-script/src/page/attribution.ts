import { cookies, isFirstClick } from './settings.js';

const CLICK_COOKIE = 'dub_id';
const PARTNER_COOKIE = 'dub_partner_data';

/** What `/track/click` and `/track/visit` answer. */
export interface Click {
  readonly clickId: string;
  readonly partner?: object;
  readonly discount?: object | null;
}

type PartnerData = Pick<Click, 'partner' | 'discount'>;

export const clickId = () => cookies.read(CLICK_COOKIE);

/** Whether a click may take the place of the one that the visitor has. */
export const mayReplace = () => !(isFirstClick && clickId());

/** Keeps a click id. The id may come from the address of the page, so it must not contain what ends a cookie's value. */
export function keepClickId(id: string): void {
  if (/^[\w.~-]{1,255}$/.test(id) && mayReplace()) cookies.write(CLICK_COOKIE, id);
}

/** Keeps a recorded click and what it says about the partner, for the page and for `useAnalytics()`. */
export function keepClick({ clickId: id, partner, discount }: Click): void {
  if (!mayReplace()) return;
  keepClickId(id);
  // An earlier partner gives way, also to a link without one.
  if (!partner && !cookies.read(PARTNER_COOKIE)) return;
  // Texts are encoded, because a name may contain what ends a cookie's value.
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
