/// <reference path="./punycode.d.ts" />
import {
  ApiError,
  BROWSER_TRACK_PATHS,
  ENCODED_KEY_CHARS_MAX,
  fieldError,
  KEY_CHARS_MAX,
  ROOT_KEY,
  SCRIPT_PATHS,
  trimCharacter,
} from '@waymark/contract';
import punycode from 'punycode/punycode.js';
import { encodePunycode } from './encode-punycode.js';

const ASCII = /^[^\u0080-\uffff]*$/;

// Digits, `#` and `*` have the property \p{Emoji} too, so narrower properties are used.
const ALLOWED =
  /^[\w\-/.\u0080-\ud7ff\ue000-\uffff\u{e0020}-\u{e007f}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]*$/u;

/** Files that browsers and robots request from every site. No link may have them as its key. */
export const SITE_FILES: ReadonlySet<string> = new Set([
  'favicon.ico',
  'sitemap.xml',
  'robots.txt',
  'manifest.webmanifest',
  'manifest.json',
  'apple-app-site-association',
]);

/** Keys that no link may have: paths that every link domain serves itself, or that browsers and robots request from every site. */
const RESERVED: ReadonlySet<string> = new Set([
  ...[...SCRIPT_PATHS, ...BROWSER_TRACK_PATHS].map((path) => path.slice(1)),
  ...SITE_FILES,
]);

/** Keys that are refused on the default domain, because their links would look like pages of the service itself. */
const SERVICE_ROUTES: ReadonlySet<string> = new Set(
  'admin api app auth billing blog contact dashboard docs help home login logout oauth pricing privacy register settings sign-in sign-up signin signup status support terms webhooks www'.split(
    ' ',
  ),
);

/** More than a label of any key has: NFC makes at most three characters of one. A longer one is neither encoded nor decoded. */
const LABEL_CHARS_MAX = 3 * KEY_CHARS_MAX;

/** How often a label is folded: punycode in punycode in punycode is only written to keep the service busy. */
const FOLDS_MAX = 2;

/** Applies `change` to every part between slashes and dots, because punycode encodes each by itself. Longer keys than ENCODED_KEY_CHARS_MAX stay as they are. */
function mapLabels(key: string, change: (label: string) => string): string {
  if (key.length > ENCODED_KEY_CHARS_MAX) return key;
  return key
    .split(/([/.])/)
    .map((part) => (part === '/' || part === '.' ? part : change(part)))
    .join('');
}

function encodeLabel(label: string): string {
  return ASCII.test(label) || label.length > LABEL_CHARS_MAX ? label : `xn--${encodePunycode(label)}`;
}

/** Decodes a punycode label. A label that no encoder would produce is returned unchanged. */
function decodeLabel(label: string): string {
  if (!/^xn--/i.test(label)) return label;
  const encoded = label.slice(4);
  try {
    const text = punycode.decode(encoded);
    if (text.length > LABEL_CHARS_MAX) return label;
    const isCanonical = !ASCII.test(text) && encodePunycode(text).toLowerCase() === encoded.toLowerCase();
    return isCanonical ? text : label;
  } catch {
    return label;
  }
}

/** The form of a label that is stored. */
function storedLabel(label: string): string {
  return encodeLabel(label.normalize('NFC'));
}

/** The form of a label in which differences of case and Unicode normalisation disappear. */
function foldLabel(label: string): string {
  let text = label;
  for (let folds = 0; folds < FOLDS_MAX; folds++) {
    const folded = decodeLabel(text).normalize('NFC').toLowerCase().normalize('NFC');
    if (!ASCII.test(folded) || folded === text) return encodeLabel(folded);
    // Folding can turn a label into plain ASCII (the Kelvin sign becomes k), and the result may be punycode again.
    text = folded;
  }
  // Not the text of the last fold: this form is its own look-up form, and that of the stored label.
  return storedLabel(label).toLowerCase();
}

/**
 * The form of a key that look-ups compare: lower case, without slashes at its ends, non-ASCII parts in punycode; `_root` for the empty key.
 * Accepts a decoded URL path, a key from a request, or a stored key.
 */
export function normaliseKey(key: string): string {
  const trimmed = trimCharacter(key, '/');
  if (trimmed === '') return ROOT_KEY;
  return ASCII.test(trimmed) && !/xn--/i.test(trimmed) ? trimmed.toLowerCase() : mapLabels(trimmed, foldLabel);
}

/** The form of a key that is stored and shown: without slashes at its ends, non-ASCII parts in punycode, upper and lower case as given. */
export function storedKey(key: string): string {
  const trimmed = trimCharacter(key, '/');
  if (trimmed === '' || trimmed.toLowerCase() === ROOT_KEY) return ROOT_KEY;
  return mapLabels(trimmed, storedLabel);
}

/** Full stops of ASCII and of other scripts. In host names they are all the same. */
const FULL_STOP = /[.\u3002\uff0e\uff61]/;

/** What a key must contain to be encoded in two ways. */
const SLASH_OR_OTHER_STOP = /[/\u3002\uff0e\uff61]/;

/** Decodes a part between full stops that was encoded with its slashes. In such a part no punycode begins after a slash. */
function decodedWithSlashes(part: string): string {
  return part.includes('/') && !/\/xn--/i.test(part) ? decodeLabel(part) : part;
}

/** The look-up form of a text whose parts between full stops were encoded with their slashes. */
function encodedWithSlashes(text: string): string {
  return normaliseKey(text.split(FULL_STOP).map(encodeLabel).join('.'));
}

/**
 * The stored form of a key whose parts between full stops are encoded with their slashes, as dub encodes them: `xn--blog/mnchen-yhb` for
 * `blog/münchen`. The text is one of Unicode, not punycode.
 */
export function storedWithSlashes(key: string): string {
  return trimCharacter(key, '/').split(FULL_STOP).map(storedLabel).join('.');
}

/**
 * Other forms under which the link of a key is found too, because there are two ways to encode a path: dub encodes the parts between full
 * stops with their slashes, as if the path was a host name (`blog/münchen` is `xn--blog/mnchen-yhb`), Waymark also the parts between
 * slashes (`blog/xn--mnchen-3ya`). Every form is that of {@link normaliseKey}. Nearly all keys have none: those in ASCII, and those without
 * a slash or a full stop of another script.
 *
 * @param key as for {@link normaliseKey}
 */
export function otherKeyForms(key: string): string[] {
  const lookup = normaliseKey(key);
  if (!lookup.includes('xn--') || lookup.length > ENCODED_KEY_CHARS_MAX) return [];
  const text = mapLabels(lookup, decodeLabel);
  // These are looked up at every visit, so paths that no link can have are not encoded again.
  if (Math.min(lookup.length, text.length) > KEY_CHARS_MAX || !SLASH_OR_OTHER_STOP.test(text)) return [];
  const decoded = key.split('.').map(decodedWithSlashes).join('.');
  const forms = new Set([normaliseKey(decoded), encodedWithSlashes(text)]);
  // Keys in plain ASCII are checked in plain ASCII, so no other key may have such a form.
  return [...forms].filter((form) => form !== lookup && form.includes('xn--'));
}

/** The number of characters of a key before it is encoded in punycode. */
export function keyChars(key: string): number {
  return mapLabels(key, decodeLabel).length;
}

/**
 * Checks that the form of a key is allowed (docs/reference/links.md).
 *
 * @param field the request field that is named in the error
 * @throws ApiError 422 for a malformed key, 403 for a reserved one
 */
export function checkKey(key: string, field = 'key'): void {
  // Punycode can be longer than its text, or shorter, as with one emoji many times. A key in punycode is accepted if it or its text is short
  // enough, so that it can be sent back as it was answered.
  if (Math.min(key.length, keyChars(key)) > KEY_CHARS_MAX) {
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
  if (isReservedKey(lookup)) throw new ApiError('forbidden', `The ${field} "${lookup}" is reserved.`);
}

/** Whether no link may have the key, in any case and encoding, because every link domain serves its path itself. */
export function isReservedKey(key: string): boolean {
  return RESERVED.has(normaliseKey(key));
}

/** Whether the link of the key would look like a page of the service itself, in any case and encoding. */
export function isServiceRoute(key: string): boolean {
  return SERVICE_ROUTES.has(normaliseKey(key));
}

function hasForbiddenForm(lookup: string): boolean {
  if (lookup.startsWith('_')) return lookup !== ROOT_KEY;
  if (lookup.startsWith('.well-known') || /\.php7?$/.test(lookup)) return true;
  // URL parsers remove dot segments, so such a link could never be visited.
  return lookup.split('/').some((segment) => segment === '.' || segment === '..');
}
