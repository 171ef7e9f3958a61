import { type CookieOptions, createCookies } from './cookies.js';

/** The short domains that the page names in `data-domains`. */
interface Domains {
  readonly refer?: string;
  readonly site?: string;
  readonly outbound?: string | readonly string[];
}

// Null when the script runs as a module.
const tag = document.currentScript ?? document.querySelector('script[src*="/analytics/script"]');

/** The value of `data-name` of the tag. Loaders that create the tag with JavaScript set it as a property instead of an attribute. */
function attribute(name: string): string | null | undefined {
  const key = `data-${name}`;
  return tag?.getAttribute(key) ?? (tag as unknown as Readonly<Record<string, string>> | null)?.[key];
}

function jsonAttribute<T>(name: string, kind: string, isKind: (value: unknown) => unknown): T | undefined {
  const text = attribute(name);
  if (!text) return undefined;
  try {
    const value = JSON.parse(text);
    if (isKind(value)) return value;
  } catch {
    // Warned about below.
  }
  console.warn(`[dubAnalytics] data-${name} is not a JSON ${kind}`);
  return undefined;
}

const objectAttribute = <T extends object>(name: string) =>
  jsonAttribute<T>(name, 'object', (value) => value instanceof Object && !Array.isArray(value));

/** Base URL of the calls: `data-api-host`, or else the origin that the script was loaded from. */
export const apiHost = (attribute('api-host') || new URL((tag as HTMLScriptElement).src, location.href).origin).replace(
  /\/$/,
  '',
);
export const publishableKey = attribute('publishable-key');
export const domains = objectAttribute<Domains>('domains') ?? {};
export const referDomain = domains.refer || attribute('short-domain');
export const keepsFirstClick = attribute('attribution-model') === 'first-click';
export const needsConsent = attribute('consent') === 'required';
export const queryParams = jsonAttribute<readonly string[]>('query-params', 'list', Array.isArray) ?? [
  attribute('query-param') || 'via',
];
export const hostname = location.hostname.replace(/^www\./, '');
export const cookies = createCookies(objectAttribute<CookieOptions>('cookie-options') ?? {}, hostname, keepsFirstClick);
