/** What a value takes in memory besides the characters of a text. */
const VALUE_CHARS = 32;

/** About what a value takes in memory, in characters: those of its texts at any depth, without the names of members, and some for each value. */
export function textChars(value: unknown): number {
  let chars = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    chars += VALUE_CHARS;
    if (typeof next === 'string') chars += next.length;
    else if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) waiting.push(member);
  }
  return chars;
}
