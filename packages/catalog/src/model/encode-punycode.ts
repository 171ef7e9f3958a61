// The parameters are those of RFC 3492, 5.
const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const INITIAL_BIAS = 72;
const INITIAL_N = 0x80;

/** Far more than a label of a key has; the caller has checked that. */
const CHARS_MAX = 4096;

const DIGITS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** The bias after a delta (RFC 3492, 6.1). */
function adaptBias(delta: number, count: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? DAMP : 2));
  rest += Math.floor(rest / count);
  let bias = 0;
  while (rest > ((BASE - T_MIN) * T_MAX) / 2) {
    rest = Math.floor(rest / (BASE - T_MIN));
    bias += BASE;
  }
  return bias + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW));
}

/** A generalised variable-length integer (RFC 3492, 3.3). */
function digitsOf(value: number, bias: number): string {
  let digits = '';
  let rest = value;
  for (let k = BASE; ; k += BASE) {
    const threshold = Math.min(Math.max(k - bias, T_MIN), T_MAX);
    if (rest < threshold) return digits + DIGITS[rest];
    digits += DIGITS[threshold + ((rest - threshold) % (BASE - threshold))];
    rest = Math.floor((rest - threshold) / (BASE - threshold));
  }
}

/** How many of the ascending numbers are smaller. */
function countBelow(ascending: readonly number[], value: number): number {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((ascending[middle] as number) < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * Encodes a text in punycode (RFC 3492). The encoder of the package `punycode` reads the whole text for each different character: 3 ms for
 * 1,000 of them, and any visitor may request such a key.
 *
 * @throws RangeError for a text of more than 4,096 characters
 */
export function encodePunycode(text: string): string {
  if (text.length > CHARS_MAX) throw new RangeError('The text is too long for punycode.');
  const points = Array.from(text, (character) => character.codePointAt(0) as number);
  const isBasic = (point: number) => point < INITIAL_N;
  const basic = points.filter(isBasic);
  // A decoder inserts the others in this order.
  const others = [...points.entries()]
    .filter(([, point]) => !isBasic(point))
    .sort(([index, point], [otherIndex, otherPoint]) => point - otherPoint || index - otherIndex);
  const parts = basic.length === 0 ? [] : [String.fromCharCode(...basic), '-'];
  /** The indexes of the characters that the decoder has at this time. */
  const known = [...points.keys()].filter((index) => isBasic(points[index] as number));
  let state = { point: INITIAL_N, place: 0, bias: INITIAL_BIAS };
  for (const [index, point] of others) {
    const place = countBelow(known, index);
    const count = known.length + 1;
    const delta = (point - state.point) * count + place - state.place;
    parts.push(digitsOf(delta, state.bias));
    state = { point, place: place + 1, bias: adaptBias(delta, count, known.length === basic.length) };
    known.splice(place, 0, index);
  }
  return parts.join('');
}
