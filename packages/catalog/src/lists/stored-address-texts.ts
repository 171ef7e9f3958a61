import { ENCODED_KEY_CHARS_MAX } from '@waymark/contract';
import { normaliseKey, storedKey, storedWithSlashes } from '../model/link-key.js';
import { storableText } from '../model/storable-text.js';

const NOT_ASCII = /[\u0080-\uffff]/;
const LETTER = /[\p{L}\p{M}]/u;
/** What precedes the key in a text that begins with a short link or a host. */
const HOST = /^(?:https?:\/\/)?[^/]+\//i;

/** A text with at most so many letters outside ASCII is looked for in each combination of cases. Each letter doubles their number. */
const LETTERS_MAX = 4;

/** A character outside ASCII in another case; the character itself if that is another number of characters, or is in ASCII. */
function inCase(character: string, change: (text: string) => string): string {
  const changed = change(character);
  return NOT_ASCII.test(character) && NOT_ASCII.test(changed) && [...changed].length === 1 ? changed : character;
}

const upper = (character: string) => inCase(character, (text) => text.toUpperCase());
const lower = (character: string) => inCase(character, (text) => text.toLowerCase());

/**
 * The text with its letters outside ASCII in upper and lower case, because punycode of `ü` and `Ü` differ: in every combination if there are
 * few, otherwise as given, in lower and upper case, and with initial capitals.
 */
function inCases(text: string): string[] {
  const characters = [...text.normalize('NFC')];
  if (characters.filter((character) => upper(character) !== lower(character)).length > LETTERS_MAX) {
    const isFirst = (index: number) => !LETTER.test(characters[index - 1] ?? '');
    const initials = characters.map((character, index) => (isFirst(index) ? upper(character) : lower(character)));
    return [characters, characters.map(lower), characters.map(upper), initials].map((form) => form.join(''));
  }
  return characters.reduce(
    (texts, character) => {
      const forms = [...new Set([lower(character), upper(character)])];
      return texts.flatMap((before) => forms.map((form) => before + form));
    },
    [''],
  );
}

/** The stored forms of a part of a short link, in the given case: the parts of its key may be encoded with or without the slashes between them. */
function encoded(text: string): string[] {
  const host = HOST.exec(text)?.[0] ?? '';
  return [
    storedKey(text),
    storedWithSlashes(text),
    ...(host === '' ? [] : [`${storedKey(host)}/${storedWithSlashes(text.slice(host.length))}`]),
  ];
}

/**
 * The forms in which a part of a domain or short link may be stored, in ASCII. None for a text in ASCII, which is stored as it is, and for one
 * that is longer than any.
 */
export function storedAddressTexts(text: string): string[] {
  if (!NOT_ASCII.test(text) || text.length > ENCODED_KEY_CHARS_MAX) return [];
  return [...new Set([normaliseKey(text), ...inCases(text).flatMap(encoded)])].map(storableText);
}
