import { type ApiError, fieldError } from '@waymark/contract';

export type Connector = 'AND' | 'OR' | 'NOT';

const SPACE = /\s*/y;
const OPERATOR = /[:=!<>~]+/y;
const STAR = /\*(?=[\s)]|$)/y;
const BARE_PIECE = /[^\s()[\]]+|[()]/y;
/** Characters that a backslash escapes; before any other character the backslash is literal. */
const ESCAPED = /["'`\\]/;

/**
 * An apostrophe within a word: in quotes of the same character it does not end the text, unless a connector follows. A connector between two
 * quoted texts, `'a'OR'b'`, counts as one, so that the missing space is an error and not a value that matches nothing.
 */
const APOSTROPHE = /(?<=[\p{L}\p{M}\p{N}])'(?=[\p{L}\p{N}])(?!(?:AND|and|OR|or)(?:[\s()]|$|'[\p{L}\p{N}]))/uy;

/** Matches a keyword in upper or lower case, but not as the beginning of a longer word. */
function wordPattern(word: string): RegExp {
  return new RegExp(`(?:${word}|${word.toLowerCase()})(?=[\\s()]|$)`, 'y');
}

const CONNECTORS: Readonly<Record<Connector, RegExp>> = {
  AND: wordPattern('AND'),
  OR: wordPattern('OR'),
  NOT: wordPattern('NOT'),
};

/**
 * Splits a query into tokens, from left to right. It looks ahead only by the length of a keyword, so the time is linear in the
 * length of the query. Every `take…` skips white space first, and consumes nothing else if the token does not match.
 */
export class Scanner {
  readonly #text: string;
  /** Where the next token begins, in UTF-16 code units. */
  offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Skips white space and returns the next character without consuming it; `''` at the end. */
  peek(): string {
    this.offset += this.#match(SPACE)?.length ?? 0;
    return this.#text.charAt(this.offset);
  }

  /** Takes a single character, which is not a letter. @returns whether it was there */
  take(character: string): boolean {
    if (this.peek() !== character) return false;
    this.offset += 1;
    return true;
  }

  /** Takes a keyword. @returns whether it was there */
  takeConnector(connector: Connector): boolean {
    this.peek();
    const found = this.#match(CONNECTORS[connector]);
    this.offset += found?.length ?? 0;
    return found !== undefined;
  }

  /** Takes a word, which is compared case-sensitively. @returns whether it was there */
  takeWord(word: string): boolean {
    this.peek();
    if (!this.#text.startsWith(word, this.offset)) return false;
    this.offset += word.length;
    return true;
  }

  /** Takes a star that is a whole value. @returns whether it was there */
  takeStar(): boolean {
    this.peek();
    const star = this.#match(STAR);
    this.offset += star?.length ?? 0;
    return star !== undefined;
  }

  /** Takes the longest run of operator characters; the parser checks whether it is a valid operator. */
  takeOperator(): string | undefined {
    this.peek();
    const run = this.#match(OPERATOR);
    this.offset += run?.length ?? 0;
    return run;
  }

  /** Takes a quoted text and returns its content; undefined when there is no quote. @throws ApiError 422 for an open quote */
  takeQuoted(): string | undefined {
    const quote = this.peek();
    if (quote !== "'" && quote !== '"' && quote !== '`') return undefined;
    const start = this.offset;
    const plain = PLAIN[quote];
    let text = '';
    this.offset += 1;
    for (;;) {
      if (this.offset >= this.#text.length) throw this.expected(`${quote} to close the text that begins here`, start);
      const next = this.#text.charAt(this.offset);
      if (next === '\\') text += this.#takeEscape();
      else if (next !== quote) text += this.#takeRun(plain);
      else if (quote === "'" && this.#match(APOSTROPHE) !== undefined) text += this.#takeRun(APOSTROPHE);
      else break;
    }
    this.offset += 1;
    return text;
  }

  /**
   * Takes an unquoted value: up to the next connector, bracket, unmatched closing parenthesis, or the end. Inner white space is
   * kept. Undefined when the value would be empty.
   */
  takeBare(): string | undefined {
    this.peek();
    const start = this.offset;
    let end = start;
    let opened = 0;
    while (!(this.#isBehindSpace() && this.#isAtConnector())) {
      const piece = this.#match(BARE_PIECE);
      if (piece === undefined || (piece === ')' && opened === 0)) break;
      if (piece === '(') opened += 1;
      if (piece === ')') opened -= 1;
      this.offset += piece.length;
      end = this.offset;
      this.peek();
    }
    this.offset = end;
    return end === start ? undefined : this.#text.slice(start, end);
  }

  /** A syntax error: what was expected at the offset. Positions count characters (not UTF-16 code units) from 1. */
  expected(what: string, offset = this.offset): ApiError {
    const position = [...this.#text.slice(0, offset)].length + 1;
    return fieldError('invalid_format', 'query', `at character ${position}: expected ${what}`);
  }

  #isBehindSpace(): boolean {
    return /\s/.test(this.#text.charAt(this.offset - 1));
  }

  #isAtConnector(): boolean {
    return this.#match(CONNECTORS.AND) !== undefined || this.#match(CONNECTORS.OR) !== undefined;
  }

  #takeEscape(): string {
    const next = this.#text.charAt(this.offset + 1);
    const isEscape = ESCAPED.test(next);
    this.offset += isEscape ? 2 : 1;
    return isEscape ? next : '\\';
  }

  #takeRun(pattern: RegExp): string {
    const run = this.#match(pattern) ?? '';
    this.offset += run.length;
    return run;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.offset;
    return pattern.exec(this.#text)?.[0];
  }
}

/** Runs of characters inside quotes that are neither an escape nor the closing quote. */
const PLAIN = { "'": /[^'\\]+/y, '"': /[^"\\]+/y, '`': /[^`\\]+/y } as const;
