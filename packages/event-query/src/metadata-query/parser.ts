import { fieldError } from '@waymark/contract';
import type { MetadataCondition, MetadataKeys, MetadataQuery, SizeOperator } from './metadata-query.js';
import { type Connector, Scanner } from './scanner.js';

/** Maximum number of nested parentheses and NOTs around one condition. */
const DEPTH_MAX = 20;
/** ClickHouse evaluates each condition for every event that passes the other filters: 50 take up to a second per million events. */
const CONDITIONS_MAX = 50;

const SIZE_OPERATORS: ReadonlySet<string> = new Set<SizeOperator>(['>', '>=', '<', '<=']);
const EQUAL_OPERATORS: ReadonlySet<string> = new Set([':', '=', '!=']);

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Parses a decimal number: ±Infinity beyond the range of a double, NaN for any other text. */
function decimal(text: string): number {
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}

class Parser {
  readonly #scanner: Scanner;
  #conditions = 0;

  constructor(text: string) {
    this.#scanner = new Scanner(text);
  }

  parse(): MetadataQuery {
    const query = this.#any(0);
    if (this.#scanner.peek() !== '') throw this.#scanner.expected('AND, OR or the end');
    return query;
  }

  /** Alternatives joined by OR. */
  #any(depth: number): MetadataQuery {
    return this.#joined('or', 'OR', () => this.#all(depth));
  }

  /** Parts joined by AND. */
  #all(depth: number): MetadataQuery {
    return this.#joined('and', 'AND', () => this.#part(depth));
  }

  #joined(type: 'and' | 'or', connector: Connector, part: () => MetadataQuery): MetadataQuery {
    const first = part();
    if (!this.#scanner.takeConnector(connector)) return first;
    const of: [MetadataQuery, MetadataQuery, ...MetadataQuery[]] = [first, part()];
    while (this.#scanner.takeConnector(connector)) of.push(part());
    return { type, of };
  }

  /** A condition, or a query in parentheses, or the negation of either. */
  #part(depth: number): MetadataQuery {
    const scanner = this.#scanner;
    if (scanner.takeConnector('NOT')) return { type: 'not', of: this.#part(this.#deeper(depth)) };
    if (!scanner.take('(')) return this.#condition();
    const inner = this.#any(this.#deeper(depth));
    if (!scanner.take(')')) throw scanner.expected('AND, OR or )');
    return inner;
  }

  /** The depth inside one more pair of parentheses or NOT. @throws ApiError 422 beyond the limit */
  #deeper(depth: number): number {
    if (depth >= DEPTH_MAX) throw this.#scanner.expected(`at most ${DEPTH_MAX} parentheses and NOTs inside each other`);
    return depth + 1;
  }

  #condition(): MetadataQuery {
    const scanner = this.#scanner;
    if (!scanner.takeWord('metadata')) throw scanner.expected("metadata['…'], NOT or (");
    this.#conditions += 1;
    if (this.#conditions > CONDITIONS_MAX) {
      throw fieldError('too_big', 'query', `must have at most ${CONDITIONS_MAX} conditions`);
    }
    const keys = this.#keys();
    scanner.peek();
    const start = scanner.offset;
    const operator = scanner.takeOperator() ?? '';
    if (SIZE_OPERATORS.has(operator)) return this.#comparison(keys, operator as SizeOperator);
    if (!EQUAL_OPERATORS.has(operator)) throw scanner.expected('[ or one of : = != > >= < <=', start);
    const condition = this.#equality(keys);
    return operator === '!=' ? { type: 'not', of: condition } : condition;
  }

  #keys(): MetadataKeys {
    const keys: [string, ...string[]] = [this.#key()];
    while (this.#scanner.peek() === '[') keys.push(this.#key());
    return keys;
  }

  #key(): string {
    const scanner = this.#scanner;
    if (!scanner.take('[')) throw scanner.expected('[');
    const key = scanner.takeQuoted();
    if (key === undefined) throw scanner.expected('a key in quotes');
    if (!scanner.take(']')) throw scanner.expected(']');
    return key;
  }

  #equality(keys: MetadataKeys): MetadataCondition {
    const scanner = this.#scanner;
    if (scanner.takeStar()) return { type: 'exists', keys };
    const text = this.#value();
    if (text === undefined) throw scanner.expected('a value or *');
    return { type: 'equals', keys, text };
  }

  #comparison(keys: MetadataKeys, operator: SizeOperator): MetadataCondition {
    const scanner = this.#scanner;
    scanner.peek();
    const start = scanner.offset;
    const text = this.#value();
    if (text === undefined) throw scanner.expected('a value');
    const number = decimal(text);
    if (Math.abs(number) === Number.POSITIVE_INFINITY) throw scanner.expected('a number of at most 1.8e308', start);
    return { type: 'compares', keys, operator, number };
  }

  #value(): string | undefined {
    const scanner = this.#scanner;
    const quoted = scanner.takeQuoted();
    if (quoted !== undefined) return quoted;
    // A value that begins with an operator character is probably a typo such as `: =`; quoted, it is accepted.
    return /[:=!<>~]/.test(scanner.peek()) ? undefined : scanner.takeBare();
  }
}

/**
 * Parses the `query` parameter; `grammar.md` in this folder defines the language.
 *
 * @param text at most 10,000 characters
 * @throws ApiError 422 with the position of the syntax error and what was expected there
 */
export function parseMetadataQuery(text: string): MetadataQuery {
  return new Parser(text).parse();
}
