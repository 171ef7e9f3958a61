/// <reference path="./punycode.d.ts" />
import { ApiError, BROWSER_TRACK_PATHS, fieldError, ROOT_KEY, SCRIPT_PATHS, trimCharacter } from '@waymark/contract';
import punycode from 'punycode/punycode.js';

const ASCII = /^[^\u0080-\uffff]*$/;

// Digits, `#` and `*` have the property \p{Emoji} too, so narrower properties are used.
const ALLOWED =
  /^[\w\-/.\u0080-\ud7ff\ue000-\uffff\u{e0020}-\u{e007f}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]*$/u;

/** Maximum length of a key chosen by the caller. A random key may be longer: prefix and random part have limits of their own. */
const KEY_CHARS_MAX = 190;

/** What every link domain serves itself, and what browsers request from every site. */
const RESERVED: ReadonlySet<string> = new Set([
  ...[...SCRIPT_PATHS, ...BROWSER_TRACK_PATHS].map((path) => path.slice(1)),
  'favicon.ico',
  'sitemap.xml',
  'robots.txt',
  'manifest.webmanifest',
  'manifest.json',
  'apple-app-site-association',
]);

/**
 * Longer than any valid key in punycode. Longer texts are not converted, because the punycode encoder takes quadratic time.
 */
const CONVERTED_CHARS_MAX = 1024;

/** Applies `change` to every part between slashes and dots; each part is a punycode label. */
function mapLabels(key: string, change: (label: string) => string): string {
  if (key.length > CONVERTED_CHARS_MAX) return key;
  return key
    .split(/([/.])/)
    .map((part) => (part === '/' || part === '.' ? part : change(part)))
    .join('');
}

function encodeLabel(label: string): string {
  return ASCII.test(label) ? label : `xn--${punycode.encode(label)}`;
}

/** The text that a punycode label encodes; a label that no encoder produces is returned unchanged. */
function decodeLabel(label: string): string {
  if (!/^xn--/i.test(label)) return label;
  const encoded = label.slice(4);
  try {
    const text = punycode.decode(encoded);
    const isCanonical = !ASCII.test(text) && punycode.encode(text).toLowerCase() === encoded.toLowerCase();
    return isCanonical ? text : label;
  } catch {
    return label;
  }
}

function foldLabel(label: string): string {
  const folded = decodeLabel(label).normalize('NFC').toLowerCase().normalize('NFC');
  // Folding can make a label plain ASCII (the Kelvin sign), and the result may be punycode itself.
  return ASCII.test(folded) && folded !== label ? foldLabel(folded) : encodeLabel(folded);
}

/**
 * The form of a key that look-ups compare: without outer slashes, lower case, non-ASCII parts in punycode; `_root` for the empty
 * key. Accepts a decoded URL path, a key from a request, or a stored key.
 */
export function normaliseKey(key: string): string {
  const trimmed = trimCharacter(key, '/');
  if (trimmed === '') return ROOT_KEY;
  return ASCII.test(trimmed) && !/xn--/i.test(trimmed) ? trimmed.toLowerCase() : mapLabels(trimmed, foldLabel);
}

/** The form of a key that is stored and shown: as given, without outer slashes, non-ASCII parts in punycode. */
export function storedKey(key: string): string {
  const trimmed = trimCharacter(key, '/');
  if (trimmed === '' || trimmed.toLowerCase() === ROOT_KEY) return ROOT_KEY;
  return mapLabels(trimmed, (label) => encodeLabel(label.normalize('NFC')));
}

/**
 * Checks that a short link may have the key.
 *
 * @param field the request field that is named in the error
 * @throws ApiError 422 for a malformed key, 403 for a reserved one
 */
export function checkKey(key: string, field = 'key'): void {
  if (key.length > KEY_CHARS_MAX) {
    throw fieldError('too_big', field, `must have at most ${KEY_CHARS_MAX} characters, key and prefix together`);
  }
  if (!ALLOWED.test(key)) {
    throw fieldError(
      'invalid_format',
      field,
      'must have no other characters than letters, digits, emoji, "-", "_", "." and "/"',
    );
  }
  const lookup = normaliseKey(key);
  if (hasForbiddenForm(lookup)) {
    const rule =
      'must not begin with "_" or ".well-known", end with ".php" or ".php7", or have "." or ".." as a part of its path';
    throw fieldError('invalid_format', field, rule);
  }
  if (RESERVED.has(lookup)) throw new ApiError('forbidden', `The ${field} "${lookup}" is reserved.`);
}

function hasForbiddenForm(lookup: string): boolean {
  if (lookup.startsWith('_')) return lookup !== ROOT_KEY;
  if (lookup.startsWith('.well-known') || /\.php7?$/.test(lookup)) return true;
  // URL parsers remove dot segments, so such a link could never be visited.
  return lookup.split('/').some((segment) => segment === '.' || segment === '..');
}
