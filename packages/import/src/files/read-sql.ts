import { ImportError } from '../model/import-error.js';
import type { SourceRow } from '../model/source-link.js';
import { decodeText } from './decode-text.js';
import { inPieces } from './in-pieces.js';

/** The table of a dump whose rows are read. */
interface DumpTable {
  /** How its name ends; YOURLS lets its owner choose the prefix. */
  readonly suffix: string;
  /** The columns that an INSERT without column names has. */
  readonly columns: readonly string[];
}

const LINKS: DumpTable = { suffix: 'url', columns: ['keyword', 'url', 'title', 'timestamp', 'ip', 'clicks'] };
const LOG: DumpTable = {
  suffix: 'log',
  columns: ['click_id', 'click_time', 'shorturl', 'referrer', 'user_agent', 'ip_address', 'country_code'],
};
const VALUE_CHARS_MAX = 1_000_000;
/** Most characters of a row: each comma may begin a value. */
const ROW_CHARS_MAX = 4_000_000;
/** Characters of a statement that are kept in memory: enough for an INSERT up to its first row. */
const STATEMENT_CHARS = 1_000;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', 0: '\0', b: '\b', Z: '\x1a' };
/** Matches the start of an INSERT, in which every run of white space has been replaced by one space. */
const INSERT = /^ ?INSERT (?:IGNORE )?INTO `?(\w+)`? ?(?:\(([^)]*)\))? ?VALUES ?$/i;

/**
 * Reads the rows of the table `yourls_url` from a MySQL dump with any number of INSERT statements. Keeps one row in memory at a time.
 *
 * @throws ImportError when the dump has no such table
 */
export function readYourlsDump(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRow> {
  return readTable(chunks, LINKS);
}

/**
 * Like {@link readYourlsDump}, for the table `yourls_log`, which has one row per click.
 *
 * @throws ImportError when the dump has no such table
 */
export function readYourlsLog(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRow> {
  return readTable(chunks, LOG);
}

async function* readTable(chunks: AsyncIterable<Uint8Array>, table: DumpTable): AsyncGenerator<SourceRow> {
  const rows = createDumpReader(table);
  for await (const text of inPieces(decodeText(chunks))) yield* rows.read(text);
  if (!rows.hasTable()) throw new ImportError(`the dump has no INSERT into a table such as yourls_${table.suffix}`);
  yield* rows.end();
}

/**
 * What the next character of the dump belongs to: `outside` = a statement, `between` = the text between two rows, `row` = an unquoted
 * value, `quoted` and `escape` = a quoted value, `quote-end` = the character after a quote, `skipped-…` = a quoted text of another
 * statement.
 */
type State = 'outside' | 'between' | 'row' | 'quoted' | 'escape' | 'quote-end' | 'skipped-quoted' | 'skipped-escape';

/** Reads a dump character by character, because one statement may have megabytes. */
function createDumpReader({ suffix, columns: defaultColumns }: DumpTable) {
  let state: State = 'outside';
  let statement = '';
  let columns = defaultColumns;
  let values: (string | null)[] = [];
  let value = '';
  let wasQuoted = false;
  let row = 0;
  /** Number of characters of the current row so far. */
  let rowChars = 0;
  let isFound = false;

  function endValue(): void {
    const bare = value.trim();
    values.push(wasQuoted ? value : bare.toUpperCase() === 'NULL' ? null : bare);
    value = '';
    wasQuoted = false;
  }

  function endRow(): SourceRow {
    endValue();
    const record = Object.fromEntries(columns.map((name, index) => [name, values[index] ?? null]));
    const count = values.length;
    values = [];
    rowChars = 0;
    row++;
    return count === columns.length
      ? { row, record }
      : { row, record, error: `the row has ${count} values, and the table ${columns.length} columns` };
  }

  /** Whether the `(` that was just read begins the first row of an INSERT into the table. */
  function beginRows(): boolean {
    const [, table, named] = INSERT.exec(statement) ?? [];
    if (!table?.toLowerCase().endsWith(suffix)) return false;
    columns = named === undefined ? defaultColumns : named.split(',').map((name) => name.replace(/[`\s]/g, ''));
    isFound = true;
    return true;
  }

  function outside(character: string): void {
    const begin = statement.trimStart();
    if (begin.startsWith('--') || begin.startsWith('#')) {
      statement = character === '\n' ? '' : begin;
      return;
    }
    if (character === ';') statement = '';
    else if (character === '(' && beginRows()) state = 'row';
    else if (character === "'") state = 'skipped-quoted';
    else if (/\s/.test(character)) statement = statement.endsWith(' ') ? statement : `${statement} `;
    else if (statement.length < STATEMENT_CHARS) statement += character;
  }

  /** @throws ImportError when the current row or a value of it is too long */
  function checkLength(): void {
    if (value.length > VALUE_CHARS_MAX)
      throw new ImportError(`row ${row + 1} of the dump has a value of more than 1 MB`);
    if (++rowChars > ROW_CHARS_MAX) throw new ImportError(`row ${row + 1} of the dump has more than 4 MB`);
  }

  function step(character: string): SourceRow | undefined {
    switch (state) {
      case 'outside':
        outside(character);
        return undefined;
      case 'between':
        if (character === '(') state = 'row';
        else if (character === ';') {
          state = 'outside';
          statement = '';
        }
        return undefined;
      case 'row':
        checkLength();
        if (character === "'") {
          state = 'quoted';
          value = '';
          wasQuoted = true;
        } else if (character === ',') endValue();
        else if (character === ')') {
          state = 'between';
          return endRow();
        } else if (!wasQuoted) value += character;
        return undefined;
      case 'quoted':
        if (character === '\\') state = 'escape';
        else if (character === "'") state = 'quote-end';
        else value += character;
        checkLength();
        return undefined;
      case 'escape':
        value += ESCAPES[character] ?? character;
        state = 'quoted';
        return undefined;
      case 'quote-end':
        if (character === "'") {
          value += "'";
          state = 'quoted';
          return undefined;
        }
        state = 'row';
        return step(character);
      case 'skipped-quoted':
        if (character === '\\') state = 'skipped-escape';
        else if (character === "'") state = 'outside';
        return undefined;
      default:
        state = 'skipped-quoted';
        return undefined;
    }
  }

  return {
    hasTable: () => isFound,
    *read(text: string): Generator<SourceRow> {
      for (const character of text) {
        const found = step(character);
        if (found !== undefined) yield found;
      }
    },
    /** If the dump ends too early, yields a row that cannot be read, with as much of the last row as there is. */
    *end(): Generator<SourceRow> {
      if (state === 'between')
        yield { row: row + 1, record: '', error: 'the dump ends within an INSERT: is it complete?' };
      if (['row', 'quoted', 'escape', 'quote-end'].includes(state))
        yield { ...endRow(), error: 'the dump ends within a row: is it complete?' };
    },
  };
}
