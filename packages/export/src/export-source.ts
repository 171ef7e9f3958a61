/** A part of an export: so small that encoding it takes about a millisecond, because the process has other requests to serve. */
export interface ExportSlice {
  /** JSON texts of API objects, in the order of the export. */
  readonly items: readonly string[];
  /** Id of the last row that the slice stands for; an export that continues begins after it. A row may have no item. */
  readonly lastId: string;
}

/** Reads an export slice by slice, each when the ones before have been sent. */
export type ExportSource = AsyncIterable<ExportSlice>;

/** Most rows of a slice, and its usual length in characters. */
const SLICE = { rows: 100, chars: 250_000 };
/** Rows of the first page and of the first slice, when the size of rows is not known yet. */
const FIRST_PAGE_ROWS = 100;
const FIRST_SLICE_ROWS = 10;

/** A page of a list. */
export interface ListPage<Row> {
  readonly rows: Iterable<Row>;
  /** Rows of a full page; a page with fewer is the last. */
  readonly limit: number;
}

/** A list that is read page by page. */
export interface PagedList<Row> {
  /**
   * @param after the last row of the page before; undefined for the first page
   * @param rowsMax so many rows have {@link pageChars} characters
   */
  readonly readPage: (after: Row | undefined, rowsMax: number) => Promise<ListPage<Row>>;
  /** Characters of the items of a page: what may be in memory, and be read at a time. */
  readonly pageChars: number;
  /** The JSON texts of rows. */
  readonly itemsOf: (rows: readonly Row[]) => Promise<readonly string[]>;
  readonly idOf: (row: Row) => string;
}

/** The rows in groups. @param size asked before each group for its number of rows */
function* groupsOf<Row>(rows: Iterable<Row>, size: () => number): Generator<[Row, ...Row[]]> {
  let group: Row[] = [];
  let rowsMax = size();
  for (const row of rows) {
    group.push(row);
    if (group.length < rowsMax) continue;
    yield group as [Row, ...Row[]];
    group = [];
    rowsMax = size();
  }
  if (group.length > 0) yield group as [Row, ...Row[]];
}

const charsOf = (items: readonly string[]): number => items.reduce((sum, { length }) => sum + length, 0);

/**
 * The slices of a list. Rows can be a hundred times as large as usual, so the sizes of pages and slices follow the rows of the slice
 * before.
 */
export async function* slicesOf<Row>(list: PagedList<Row>): AsyncGenerator<ExportSlice> {
  const { readPage, pageChars, itemsOf, idOf } = list;
  let last: Row | undefined;
  /** Characters of a row; undefined = no row has been read. */
  let rowChars: number | undefined;
  const rowsWith = (chars: number) => Math.max(1, Math.floor(chars / (rowChars ?? chars)));
  const sliceRows = () => (rowChars === undefined ? FIRST_SLICE_ROWS : Math.min(SLICE.rows, rowsWith(SLICE.chars)));
  for (;;) {
    let read = 0;
    const page = await readPage(last, rowChars === undefined ? FIRST_PAGE_ROWS : rowsWith(pageChars));
    for (const rows of groupsOf(page.rows, sliceRows)) {
      read += rows.length;
      last = rows.at(-1) ?? rows[0];
      const items = await itemsOf(rows);
      rowChars = Math.max(1, charsOf(items) / rows.length);
      yield { items, lastId: idOf(last) };
    }
    if (read < page.limit) return;
  }
}
