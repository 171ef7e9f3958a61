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

/** Shortens a text in the middle: many expressions fail only at its end. */
export function textUpTo(text: string, charsMax = CHARS): string {
  return text.length <= charsMax ? text : text.slice(0, Math.max(0, charsMax - 1)) + text.slice(-1);
}
