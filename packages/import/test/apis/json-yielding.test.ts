import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonYielding, TooManyValuesError } from '../../src/apis/json-yielding.js';

const bytes = (text: string) => Buffer.from(text);

describe('an answer of a source', () => {
  it('is read as JSON.parse reads it', async () => {
    // The parser leaves out a byte order mark at the beginning of a text, an invisible character.
    const texts = fc.string({ unit: 'binary' }).filter((text) => !text.startsWith('\ufeff'));
    const keys = fc.oneof(texts, fc.constantFrom('__proto__', 'a'));
    const record = fc.dictionary(keys, fc.oneof(fc.jsonValue(), texts));
    await fc.assert(
      fc.asyncProperty(record, fc.constantFrom(0, 2), async (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(await parseJsonYielding(bytes(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('is refused where JSON.parse refuses it', async () => {
    const mutated = fc
      .tuple(fc.jsonValue(), fc.nat(), fc.constantFrom('', '"', ',', '}', ']', '0', 'x', '\\'))
      .map(([value, place, put]) => {
        const text = JSON.stringify([value]);
        const at = place % text.length;
        return text.slice(0, at) + put + text.slice(at + 1);
      });
    await fc.assert(
      fc.asyncProperty(mutated, async (text) => {
        const outcome = async (parse: () => unknown) => {
          try {
            return await parse();
          } catch {
            return 'refused';
          }
        };
        expect(await outcome(() => parseJsonYielding(bytes(text)))).toEqual(await outcome(() => JSON.parse(text)));
      }),
    );
  });

  it('may have raw control characters, and characters at the ends of the parts that are parsed at once', async () => {
    const title = `a\u0001b${'é😀'.repeat(20_000)}`;
    expect(await parseJsonYielding(bytes(`{"title":"${title}"}\n`))).toEqual({ title: title.replace('\u0001', ' ') });
  });

  it('may have bytes that are no UTF-8', async () => {
    expect(await parseJsonYielding(Buffer.from('{"title":"caf\u00e9"}', 'latin1'))).toEqual({ title: 'caf\ufffd' });
  });

  it('is parsed in turns with requests, and not to its end when it has millions of values', async () => {
    let turns = 0;
    let counting = setImmediate(function count() {
      turns++;
      counting = setImmediate(count);
    });
    const page = bytes(`[${'{"34":0},'.repeat(500_000)}0]`);
    const parsing = parseJsonYielding(page).finally(() => clearImmediate(counting));
    await expect(parsing).rejects.toThrow(TooManyValuesError);
    expect(turns).toBeGreaterThan(100);
  });
});
