import { stringLiteral } from './sql-text.js';

const INTEGER_TYPE = /^(U?)Int(8|16|32|64)$/;
const LIST_TYPE = /^Array\((\w+)\)$/;
const INTEGER = /^(?:0|-?[1-9]\d{0,19})$/;
/** A quoted element of a list; its escapes are those of a literal in SQL. */
const QUOTED = String.raw`'[^'\\\0]*(?:\\[\\'0bfnrt][^'\\\0]*)*'`;
const QUOTED_LIST = new RegExp(String.raw`^\[(?:${QUOTED}(?:,${QUOTED})*)?\]$`);
/** Types of times, and texts that a parameter and a cast both read as the same time. */
const TIMES: ReadonlyMap<string, RegExp> = new Map([
  ['Date', /^\d{4}-\d\d-\d\d$/],
  ["DateTime('UTC')", /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/],
  ["DateTime64(3, 'UTC')", /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/],
]);
/** What an escape in the text of a parameter stands for. */
const ESCAPES: ReadonlyMap<string | undefined, string> = new Map([
  ['\\', '\\'],
  ["'", "'"],
  ['0', '\0'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** The text without its escapes; undefined if it has another escape than those above. */
function unescaped(text: string): string | undefined {
  let isKnown = true;
  const plain = text.replace(/\\([\s\S]?)/g, (_, character: string) => {
    isKnown &&= ESCAPES.has(character);
    return ESCAPES.get(character) ?? '';
  });
  return isKnown ? plain : undefined;
}

/** Whether a type is one of integers, and the text a value of it. */
function isInteger(type: string, text: string): boolean {
  const [, unsigned, bits] = INTEGER_TYPE.exec(type) ?? [];
  if (bits === undefined || !INTEGER.test(text)) return false;
  const value = BigInt(text);
  return value === (unsigned === 'U' ? BigInt.asUintN(Number(bits), value) : BigInt.asIntN(Number(bits), value));
}

function isListOfIntegers(type: string, text: string): boolean {
  const [, element] = LIST_TYPE.exec(type) ?? [];
  if (element === undefined || !text.startsWith('[') || !text.endsWith(']')) return false;
  const inside = text.slice(1, -1);
  return INTEGER_TYPE.test(element) && (inside === '' || inside.split(',').every((item) => isInteger(element, item)));
}

function bareLiteral(type: string, text: string): string | undefined {
  if (type === 'String') {
    const plain = unescaped(text);
    return plain === undefined ? undefined : stringLiteral(plain);
  }
  if (TIMES.get(type)?.test(text)) return stringLiteral(text);
  if (type === 'Array(String)') return QUOTED_LIST.test(text) ? text : undefined;
  return isInteger(type, text) || isListOfIntegers(type, text) ? text : undefined;
}

/**
 * The SQL of a parameter's value: a literal in a cast, as the engine itself puts it in.
 *
 * @param type in the form of ClickHouse, such as `Array(UInt64)`
 * @param text the value in ClickHouse's escaped text form
 * @returns undefined for types and texts that are left to the engine
 */
export function parameterLiteral(type: string, text: string): string | undefined {
  const literal = bareLiteral(type, text);
  return literal === undefined ? undefined : `_CAST(${literal}, ${stringLiteral(type)})`;
}
