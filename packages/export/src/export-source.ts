/** A part of an export, so small that encoding it takes about a millisecond and delays no other request. */
export interface ExportSlice {
  /** JSON texts of API objects, in the order of the export. */
  readonly items: readonly string[];
  /** Id of the last row of the slice, after which an export can be continued. That row need not have an item. */
  readonly lastId: string;
}

/** The slices of an export. Each is read on demand, after the ones before have been sent. */
export type ExportSource = AsyncIterable<ExportSlice>;

/** Limit on the rows of a slice, and the length in characters that it should have. */
const SLICE = { rows: 100, chars: 250_000 };
/** Rows of the first page and of the first slice, before the size of a row is known. */
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
   * @param rowsMax limit on the rows of the page: about so many have {@link pageChars} characters
   */
  readonly readPage: (after: Row | undefined, rowsMax: number) => Promise<ListPage<Row>>;
  /** Characters that the items of a page may have: what is read at a time, and is in memory. */
  readonly pageChars: number;
  /** The JSON texts of the items of rows. A row may have none. */
  readonly itemsOf: (rows: readonly Row[]) => Promise<readonly string[]>;
  readonly idOf: (row: Row) => string;
}

/** Splits rows into groups. @param size returns the number of rows of the next group */
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
 * Reads a list slice by slice. Rows may be a hundred times as large as usual, so the number of rows of the next page or slice is computed
 * from the size of the items in the slice before.
 */
export async function* slicesOf<Row>(list: PagedList<Row>): AsyncGenerator<ExportSlice> {
  const { readPage, pageChars, itemsOf, idOf } = list;
  let last: Row | undefined;
  /** Characters of an item; undefined = none has been read. */
  let itemChars: number | undefined;
  const rowsWith = (chars: number) => Math.max(1, Math.floor(chars / (itemChars ?? chars)));
  const sliceRows = () => (itemChars === undefined ? FIRST_SLICE_ROWS : Math.min(SLICE.rows, rowsWith(SLICE.chars)));
  for (;;) {
    let read = 0;
    const page = await readPage(last, itemChars === undefined ? FIRST_PAGE_ROWS : rowsWith(pageChars));
    for (const rows of groupsOf(page.rows, sliceRows)) {
      read += rows.length;
      last = rows.at(-1) ?? rows[0];
      const items = await itemsOf(rows);
      // Rows without items say nothing about the size of those that follow.
      if (items.length > 0) itemChars = charsOf(items) / items.length;
      yield { items, lastId: idOf(last) };
    }
    if (read < page.limit) return;
  }
}
