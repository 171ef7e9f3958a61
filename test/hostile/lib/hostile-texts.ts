import { encodePunycode } from '../../../packages/catalog/src/model/encode-punycode.js';

const CHARS = 100_000;

/** All different, because encoding an international name takes longer the more distinct characters it has. */
const IDEOGRAPHS = Array.from({ length: 20_000 }, (_, index) => String.fromCharCode(0x4e00 + index)).join('');

const many = (text: string) => text.repeat(Math.ceil(CHARS / text.length));

/** Texts of about 100,000 characters, each the worst case of some parser. */
export const HOSTILE_TEXTS: readonly string[] = [
  `a${many('/')}x`,
  many(IDEOGRAPHS),
  `https://${many(IDEOGRAPHS)}/`,
  `https://a.test/a${many('/')}x`,
  `https://a.test/?${many('a=%&')}`,
  many('xn--'),
  `${many('.')}x`,
  many('%'),
  many('%E4%B8'),
  many('['),
  `"${many('\\')}`,
  many(`'"\``),
  many('{"a":'),
  many('a,'),
  `${many(' ')}x`,
  `${many('1')}x`,
  `metadata['${many('a.')}`,
  many("metadata['a']:x AND ("),
];

/** Valid punycode that contains valid punycode, and so on, in at most so many characters: the Kelvin sign is a `k` in lower case. */
function nestedPunycode(charsMax: number): string {
  let text = 'k'.repeat(Math.ceil(charsMax / 5));
  for (;;) {
    const outer = `xn--${encodePunycode(text.replace(/k(?=[^k]*$)/, '\u212a'))}`;
    if (outer.length > charsMax) return text;
    text = outer;
  }
}

/** The longest punycode of different characters with at most so many characters. */
function longPunycode(charsMax: number): string {
  let chars = Math.floor(charsMax / 2);
  for (;;) {
    const text = `xn--${encodePunycode(IDEOGRAPHS.slice(0, chars))}`;
    if (text.length <= charsMax) return text;
    chars -= Math.ceil((text.length - charsMax) / 2);
  }
}

/**
 * The lengths of short texts, each twice the one before. A parser may ignore texts above some length: it is then tested with a text of more
 * than half that length.
 */
const SHORT_CHARS = [128, 256, 512, 1024, 2048, 4096, 8192, 16_384] as const;

/** Longest text that is generated for its length: about that of a path. */
const MADE_CHARS_MAX = 1024;

/** Texts for parsers that ignore long texts: those above in many lengths, and some that are valid only as a whole. */
export const SHORT_HOSTILE_TEXTS: readonly string[] = SHORT_CHARS.flatMap((chars) => [
  ...HOSTILE_TEXTS.map((text) => textUpTo(text, chars)),
  ...(chars > MADE_CHARS_MAX ? [] : [nestedPunycode(chars), longPunycode(chars)]),
]);

/** Shortens a text in the middle: many expressions fail only at its end. */
export function textUpTo(text: string, charsMax = CHARS): string {
  return text.length <= charsMax ? text : text.slice(0, Math.max(0, charsMax - 1)) + text.slice(-1);
}
