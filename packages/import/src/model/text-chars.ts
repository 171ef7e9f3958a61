/** The number of characters of a value's texts, at any depth and without the names of members: about what it takes in memory. */
export function textChars(value: unknown): number {
  let chars = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'string') chars += next.length;
    else if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) waiting.push(member);
  }
  return chars;
}
