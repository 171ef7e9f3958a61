import { cookies, isFirstClick } from './settings.js';

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

/** Whether a click id may be stored: always, unless another one is stored and the attribution model is `first-click`. */
export const mayKeep = (id?: string) => !(isFirstClick && clickId() && clickId() !== id);

/** Whether a text from the address of the page may be stored as a click id: characters such as `;` would end the value of the cookie. */
export const isClickId = (text: string) => /^[\w.~-]{1,255}$/.test(text);

/** Stores the id of a click, and its partner and discount for the page and for `useAnalytics()`. */
export function keepClick({ clickId: id, partner, discount }: Click): void {
  if (!mayKeep(id)) return;
  if (isClickId(id)) cookies.write(CLICK_COOKIE, id);
  // The click replaces a stored partner, even if its own link has none.
  if (!partner && !cookies.read(PARTNER_COOKIE)) return;
  // Texts are encoded, because a name may contain `;`, which would end the value of the cookie.
  const encoded = JSON.stringify({ clickId: id, partner, discount }, (_key, value) =>
    typeof value === 'string' ? encodeURIComponent(value) : value,
  );
  cookies.write(PARTNER_COOKIE, encoded);
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
