import { type ApiError, fieldError } from '@waymark/contract';

export type Connector = 'AND' | 'OR' | 'NOT';

const SPACE = /\s*/y;
const OPERATOR = /[:=!<>~]+/y;
const STAR = /\*(?=[\s)]|$)/y;
const BARE_PIECE = /[^\s()[\]]+|[()]/y;
/** A backslash before anything else stands for itself. */
const ESCAPED = /["'`\\]/;

/** A word of the language, in capitals or in small letters, not the beginning of a longer one. */
function wordPattern(word: string): RegExp {
  return new RegExp(`(?:${word}|${word.toLowerCase()})(?=[\\s()]|$)`, 'y');
}

const CONNECTORS: Readonly<Record<Connector, RegExp>> = {
  AND: wordPattern('AND'),
  OR: wordPattern('OR'),
  NOT: wordPattern('NOT'),
};

/**
 * Reads the pieces of a query from left to right. Nothing is read twice but the few letters of a word looked ahead for, so
 * that the time is linear in the length. Every `take…` skips white space first.
 */
export class Scanner {
  readonly #text: string;
  /** In UTF-16 units; where the next piece begins. */
  offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next character; empty at the end. */
  peek(): string {
    this.offset += this.#match(SPACE)?.length ?? 0;
    return this.#text.charAt(this.offset);
  }

  /** @param character one that is no letter */
  take(character: string): boolean {
    if (this.peek() !== character) return false;
    this.offset += 1;
    return true;
  }

  takeConnector(connector: Connector): boolean {
    this.peek();
    const found = this.#match(CONNECTORS[connector]);
    this.offset += found?.length ?? 0;
    return found !== undefined;
  }

  /** @param word in exactly this case */
  takeWord(word: string): boolean {
    this.peek();
    if (!this.#text.startsWith(word, this.offset)) return false;
    this.offset += word.length;
    return true;
  }

  /** A star that stands alone. */
  takeStar(): boolean {
    this.peek();
    const star = this.#match(STAR);
    this.offset += star?.length ?? 0;
    return star !== undefined;
  }

  /** As many characters as could be part of an operator. */
  takeOperator(): string | undefined {
    this.peek();
    const run = this.#match(OPERATOR);
    this.offset += run?.length ?? 0;
    return run;
  }

  /** A text in quotes of any kind, without them; undefined when there is no quote. @throws ApiError 422 */
  takeQuoted(): string | undefined {
    const quote = this.peek();
    if (quote !== "'" && quote !== '"' && quote !== '`') return undefined;
    const start = this.offset;
    const plain = PLAIN[quote];
    let text = '';
    this.offset += 1;
    while (this.#text.charAt(this.offset) !== quote) {
      if (this.offset >= this.#text.length) throw this.expected(`${quote} to close the text that begins here`, start);
      text += this.#text.charAt(this.offset) === '\\' ? this.#takeEscape() : this.#takeRun(plain);
    }
    this.offset += 1;
    return text;
  }

  /**
   * Text without quotes around it up to the next connector, bracket, parenthesis that it did not open itself, or the end; the
   * white space in it as it is. Undefined when there is none.
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

  /** A fault that says what should stand at the offset. Positions count characters from 1. */
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

/** What needs no closer look inside a quoted text. */
const PLAIN = { "'": /[^'\\]+/y, '"': /[^"\\]+/y, '`': /[^`\\]+/y } as const;
