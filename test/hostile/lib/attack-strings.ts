/** A text that makes an expression backtrack: `prefix`, then `pump` repeated, then `suffix`. */
export interface Attack {
  readonly prefix: string;
  readonly pump: string;
  readonly suffix: string;
}

/** The tokens of an expression. */
const TOKEN =
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[\s\S])|\[(?:\\[\s\S]|[^\\\]])*\]|\(\?(?:<?[=!]|:|<[^>]*>)|\{\d+(?:,\d*)?\}|[\s\S]/gu;
/** Tokens that do not match a character themselves: groups, repetition, assertions and references. */
const SYNTAX = /^(?:\(.*|[)|*+?^$]|\{\d.*\}|\\[bB]|\\[1-9]|\\k<.*)$/su;
/** Repetition tokens. Without one of them, an expression matches at most its own length. */
const REPEATING = /^(?:[*+]|\{.*)$/;
const CODE_POINT = /\\u\{([0-9a-f]+)\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/giu;

/** Characters of every category, some of which differ only in case. */
const SAMPLES = '\0\t\n !"#$%&\'()*+,-./09:;<=>?@AEZ[\\]^_`aefz{|}~\x7f\x80©ßéſ\u212a中\ud800\ufffd\uffff😀🇦🏽';
const CODE_POINT_MAX = 0x10ffff;
/** Covers all planes with characters, for classes whose bounds are not written in the expression. */
const PROPERTIES_LOOKED_UP_TO = 0x30000;
const RUN_TOKENS_MAX = 12;
const STARTS_MAX = 40;

function charactersFor(tokens: readonly string[]): Set<string> {
  const bounds = [...tokens.join('').matchAll(CODE_POINT)].flatMap(([, ...digits]) => {
    const point = Number.parseInt(digits.find((text) => text !== undefined) ?? '', 16);
    return [point - 1, point, point + 1].filter((near) => near >= 0 && near <= CODE_POINT_MAX);
  });
  const properties = tokens.some((token) => /\\p/i.test(token)) ? PROPERTIES_LOOKED_UP_TO : 0;
  const points = [...bounds, ...Array.from({ length: properties }, (_, point) => point)];
  return new Set([...SAMPLES, ...tokens.join(''), ...points.map((point) => String.fromCodePoint(point))]);
}

interface Alphabet {
  /** One character for each set of tokens that match it: the expression treats other characters alike. */
  readonly letters: readonly string[];
  /** A matching character for each token. */
  readonly samples: readonly string[];
}

function alphabetOf(tokens: readonly string[], flags: string): Alphabet {
  const charFlags = flags.replace(/[^iuvs]/g, '');
  const testers = new Map([...new Set(tokens)].map((token) => [token, new RegExp(`^${token}$`, charFlags)]));
  const letters = new Map<string, string>();
  const sampleOf = new Map<string, string>();
  for (const character of charactersFor(tokens)) {
    const met = [...testers].filter(([, tester]) => tester.test(character)).map(([token]) => token);
    for (const token of met) if (!sampleOf.has(token)) sampleOf.set(token, character);
    const set = met.join('\0');
    if (!letters.has(set)) letters.set(set, character);
  }
  return { letters: [...letters.values()], samples: tokens.map((token) => sampleOf.get(token) ?? '') };
}

/**
 * Attacks on an expression, built from its own tokens: every character, every pair of characters and every run of its tokens
 * repeated, at the start of a text and later in it, and after everything that the expression may start with. They prove
 * nothing, but in practice one of them slows down every expression that takes quadratic time or worse.
 */
export function attacksOn({ source, flags }: RegExp): Attack[] {
  const all = [...source.matchAll(TOKEN)].map(([token]) => token);
  const tokens = all.filter((token) => !SYNTAX.test(token));
  const { letters, samples } = alphabetOf(tokens, flags);
  const pairs = letters.flatMap((one) => letters.map((two) => one + two));
  const runs = samples.flatMap((_sample, start) =>
    Array.from({ length: RUN_TOKENS_MAX }, (_, index) => samples.slice(start, start + index + 1).join('')),
  );
  const starts = samples.map((_sample, index) => samples.slice(0, index + 1).join(''));
  const isRepeating = all.some((token) => REPEATING.test(token));
  const suffixes = [...new Set(['', '\0', '\n', samples.at(-1) ?? ''])];

  const attacks = new Map<string, Attack>();
  const add = (prefix: string, pump: string) => {
    if (pump === '') return;
    for (const suffix of suffixes) attacks.set(JSON.stringify([prefix, pump, suffix]), { prefix, pump, suffix });
  };
  for (const pump of [...letters, ...pairs, ...runs, ...starts]) add('', pump);
  if (!isRepeating) return [...attacks.values()];
  for (const pump of [...letters, ...pairs]) for (const prefix of letters) add(prefix, pump);
  for (const prefix of starts.slice(0, STARTS_MAX)) for (const pump of letters) add(prefix, pump);
  return [...attacks.values()];
}

/** Builds an attack of about `chars` characters. */
export function attackText({ prefix, pump, suffix }: Attack, chars: number): string {
  return prefix + pump.repeat(Math.ceil(chars / pump.length)) + suffix;
}
