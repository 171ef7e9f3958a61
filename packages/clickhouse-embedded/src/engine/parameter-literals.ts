import { stringLiteral } from './sql-text.js';

const INTEGER_TYPE = /^(U?)Int(8|16|32|64)$/;
const LIST_TYPE = /^Array\((\w+)\)$/;
const INTEGER = /^(?:0|-?[1-9]\d{0,19})$/;
/** A quoted element of a list; its escapes are those of a literal in SQL. */
const QUOTED = String.raw`'[^'\\\0]*(?:\\[\\'0bfnrt][^'\\\0]*)*'`;
const QUOTED_LIST = new RegExp(String.raw`^\[(?:${QUOTED}(?:,${QUOTED})*)?\]$`);
/** Types of times, and the form of their values. */
const TIMES: ReadonlyMap<string, RegExp> = new Map([
  ['Date', /^\d{4}-\d\d-\d\d$/],
  ["DateTime('UTC')", /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/],
  ["DateTime64(3, 'UTC')", /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/],
]);
/** Years that all of these types can hold. */
const [YEAR_MIN, YEAR_MAX] = [1970, 2105];
/** The engine ends the value of a parameter at an unescaped tab or line break, and refuses the rest. */
const RAW_CONTROL = /[\t\n]/;
/** The characters of escapes in the text of a parameter. */
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

/** Whether a type is one of times, and the text a valid time. A cast and a parameter read invalid ones, such as February 30, differently. */
function isTime(type: string, text: string): boolean {
  if (!TIMES.get(type)?.test(text)) return false;
  const [day = '', time = '00:00:00'] = text.split(' ');
  const date = new Date(`${day}T${time}Z`);
  const year = date.getUTCFullYear();
  return year >= YEAR_MIN && year <= YEAR_MAX && date.toISOString().startsWith(`${day}T${time}`);
}

/** A string with a space before it: after a letter such as `x` the quote would begin another literal. */
function textLiteral(text: string): string | undefined {
  const plain = RAW_CONTROL.test(text) ? undefined : unescaped(text);
  return plain === undefined ? undefined : ` ${stringLiteral(plain)}`;
}

function castLiteral(type: string, text: string): string | undefined {
  if (isTime(type, text)) return stringLiteral(text);
  if (type === 'Array(String)') return QUOTED_LIST.test(text) ? text : undefined;
  return isInteger(type, text) || isListOfIntegers(type, text) ? text : undefined;
}

/**
 * The SQL of a parameter's value, in the form in which the engine itself substitutes it: a string as it is, anything else in a cast.
 *
 * @param type in the form of ClickHouse, such as `Array(UInt64)`
 * @param text the value in ClickHouse's escaped text form
 * @returns undefined for types and texts that are left to the engine
 */
export function parameterLiteral(type: string, text: string): string | undefined {
  if (type === 'String') return textLiteral(text);
  const literal = castLiteral(type, text);
  return literal === undefined ? undefined : `_CAST(${literal}, ${stringLiteral(type)})`;
}
