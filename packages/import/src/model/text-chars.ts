/** What a value takes in memory besides the characters of a text. */
const VALUE_CHARS = 32;

/** Names of members with fewer characters are those of a format, which its records share. */
const OWN_NAME_CHARS = 100;

/** About what a value takes in memory, in characters: those of its texts at any depth, those of long names of members, and some for each value. */
export function textChars(value: unknown): number {
  let chars = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    chars += VALUE_CHARS;
    if (typeof next === 'string') chars += next.length;
    else if (Array.isArray(next)) for (const member of next) waiting.push(member);
    else if (typeof next === 'object' && next !== null) {
      for (const [name, member] of Object.entries(next)) {
        if (name.length >= OWN_NAME_CHARS) chars += name.length;
        waiting.push(member);
      }
    }
  }
  return chars;
}
