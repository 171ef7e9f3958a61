/** A part of an export: so small that encoding it takes about a millisecond, because the process has other requests to serve. */
export interface ExportSlice {
  /** JSON texts of API objects, in the order of the export. */
  readonly items: readonly string[];
  /** Id of the last row that the slice stands for; an export that continues begins after it. A row may have no item. */
  readonly lastId: string;
}

/** Reads an export slice by slice, each when the ones before have been sent. */
export type ExportSource = AsyncIterable<ExportSlice>;

/** Rows of a slice. */
const SLICE_ROWS = 100;

/** A page of a list. */
export interface ListPage<Row> {
  readonly rows: Iterable<Row>;
  /** Rows of a full page; a page with fewer is the last. */
  readonly limit: number;
}

/** A list that is read page by page. */
export interface PagedList<Row> {
  /** @param after the last row of the page before; undefined for the first page */
  readonly readPage: (after: Row | undefined) => Promise<ListPage<Row>>;
  /** The JSON texts of rows. */
  readonly itemsOf: (rows: readonly Row[]) => Promise<readonly string[]>;
  readonly idOf: (row: Row) => string;
}

/** The rows in groups of {@link SLICE_ROWS}. */
function* groupsOf<Row>(rows: Iterable<Row>): Generator<[Row, ...Row[]]> {
  let group: Row[] = [];
  for (const row of rows) {
    group.push(row);
    if (group.length < SLICE_ROWS) continue;
    yield group as [Row, ...Row[]];
    group = [];
  }
  if (group.length > 0) yield group as [Row, ...Row[]];
}

/** The slices of a list. */
export async function* slicesOf<Row>(list: PagedList<Row>): AsyncGenerator<ExportSlice> {
  const { readPage, itemsOf, idOf } = list;
  let last: Row | undefined;
  for (;;) {
    let read = 0;
    const page = await readPage(last);
    for (const rows of groupsOf(page.rows)) {
      read += rows.length;
      last = rows.at(-1) ?? rows[0];
      yield { items: await itemsOf(rows), lastId: idOf(last) };
    }
    if (read < page.limit) return;
  }
}
