import type { ApiError } from '@waymark/contract';
import { fault } from '../fault.js';

export type Connector = 'AND' | 'OR' | 'NOT';

const SPACE = /\s*/y;
const OPERATOR = /[:=!<>~]+/y;
const BARE_WORD = /[^\s()[\]'"`*]+/y;
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|(["'`\\/bfnrt]))/y;
const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** A word of the language in any case, not the beginning of a longer one. */
function wordPattern(word: string): RegExp {
  return new RegExp(`${word}(?![\\p{L}\\p{N}_])`, 'iuy');
}

const CONNECTORS: Readonly<Record<Connector, RegExp>> = {
  AND: wordPattern('and'),
  OR: wordPattern('or'),
  NOT: wordPattern('not'),
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
   * Words without quotes up to the next connector, parenthesis, quote, star or the end, the white space between them as it is.
   * Undefined when there is none.
   */
  takeBare(): string | undefined {
    this.peek();
    const start = this.offset;
    let end = start;
    while (!this.#isAtConnector()) {
      const word = this.#match(BARE_WORD);
      if (word === undefined) break;
      this.offset += word.length;
      end = this.offset;
      this.peek();
    }
    this.offset = end;
    return end === start ? undefined : this.#text.slice(start, end);
  }

  /** A fault that says what should stand at the offset. Positions count characters from 1. */
  expected(what: string, offset = this.offset): ApiError {
    const position = [...this.#text.slice(0, offset)].length + 1;
    return fault('invalid_format', 'query', `at character ${position}: expected ${what}`);
  }

  #isAtConnector(): boolean {
    return this.#match(CONNECTORS.AND) !== undefined || this.#match(CONNECTORS.OR) !== undefined;
  }

  #takeEscape(): string {
    ESCAPE.lastIndex = this.offset;
    const match = ESCAPE.exec(this.#text);
    if (match === null) throw this.expected('one of \\\\ \\\' \\" \\` \\/ \\b \\f \\n \\r \\t \\uXXXX');
    this.offset += match[0].length;
    const [, code, character = ''] = match;
    return code === undefined ? (ESCAPED[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16));
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
