import type { ColumnType, NamedColumn } from '../columns.js';
import type { Encoder } from './encoder.js';
import { createParquetFile, type SchemaElement } from './parquet-file.js';

/** The Parquet types that data warehouses read as text, 64-bit integer, boolean, timestamp in UTC, list of texts, and text with JSON. */
const ELEMENTS: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  flag: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  texts: { converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
};

/** The nodes below a list, as the Parquet format prescribes them. */
const LIST_ITEMS: readonly SchemaElement[] = [
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'REQUIRED', ...ELEMENTS.text },
];

function elementsOf({ name, type }: Pick<NamedColumn<never>, 'name' | 'type'>): SchemaElement[] {
  return [{ name, repetition_type: 'OPTIONAL', ...ELEMENTS[type] }, ...(type === 'texts' ? LIST_ITEMS : [])];
}

/** A value in the form that the library `hyparquet-writer` expects. */
function cellOf(type: ColumnType, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (type) {
    case 'integer':
      return BigInt(Math.trunc(Number(value)));
    case 'time':
      return new Date(String(value));
    case 'json':
      return JSON.stringify(value);
    default:
      return value;
  }
}

/**
 * A row group is written when it has this many rows, or its items this many characters. Larger groups would make smaller files, but writing
 * one would hold up other requests for too long.
 */
const GROUP_ROWS = 1500;
const GROUP_CHARS = 2_000_000;

/** Creates an encoder of Parquet. Rows are kept in memory until their row group is written; the end of the file lists the row groups. */
export function createParquetEncoder<Item>(
  columns: readonly NamedColumn<Item>[],
  groupRows: number = GROUP_ROWS,
): Encoder {
  const root: SchemaElement = { name: 'root', num_children: columns.length };
  const file = createParquetFile([root, ...columns.flatMap(elementsOf)]);
  let group: Item[] = [];
  let groupChars = 0;
  const writeGroup = () => {
    file.writeGroup(
      columns.map(({ name, type, read }) => ({ name, data: group.map((item) => cellOf(type, read(item))) })),
    );
    group = [];
    groupChars = 0;
  };
  return {
    encode(items) {
      for (const text of items) {
        group.push(JSON.parse(text) as Item);
        groupChars += text.length;
      }
      if (group.length >= groupRows || groupChars >= GROUP_CHARS) writeGroup();
      return file.takeBytes();
    },
    *end() {
      if (group.length > 0) writeGroup();
      yield* file.end();
    },
  };
}
