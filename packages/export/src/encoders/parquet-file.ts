import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];
type RowGroup = ParquetWriter['row_groups'][number];
type ColumnData = Parameters<ParquetWriter['write']>[0]['columnData'];
export type SchemaElement = Schema[number];

/** Writes a Parquet file, one row group after the other. */
export interface ParquetFile {
  writeGroup(columnData: ColumnData): void;
  /** The bytes of the file that were not taken yet. */
  takeBytes(): Uint8Array;
  /** The bytes after the last row group, in parts. Each part costs about as much as a copy of it, however many row groups there are. */
  end(): Iterable<Uint8Array>;
}

const CREATED_BY = 'waymark';
const MAGIC = Buffer.from('PAR1');
/** Bytes of the length that the library writes after the metadata. */
const LENGTH_BYTES = 4;
/** Entries of row groups are kept in buffers of this many bytes. */
const BLOCK_BYTES = 64 * 1024;
/** The type of structs in the compact protocol of Thrift. */
const STRUCT = 12;

/** Takes the bytes out of a writer. */
function takeBytes(writer: ByteWriter): Uint8Array {
  const bytes = Uint8Array.from(writer.getBytes());
  writer.index = 0;
  return bytes;
}

/** The metadata of a file, as the library writes it. */
function metadataOf(schema: Schema, rows: bigint, groups: RowGroup[]): Uint8Array {
  const writer = new ByteWriter();
  const common = { version: 2, created_by: CREATED_BY, schema, metadata_length: 0 };
  writeMetadata(writer, { ...common, num_rows: rows, row_groups: groups });
  return takeBytes(writer).subarray(0, -LENGTH_BYTES);
}

/** The header of a list of structs, in the compact protocol of Thrift. */
function listHeader(length: number): Uint8Array {
  const writer = new ByteWriter();
  if (length < 15) writer.appendUint8((length << 4) | STRUCT);
  else {
    writer.appendUint8((15 << 4) | STRUCT);
    writer.appendVarInt(length);
  }
  return takeBytes(writer);
}

/**
 * Collects the metadata of a file, which lists its row groups. The library would keep the objects of all row groups, with the whole of their
 * largest and smallest texts, and make bytes of them in one step at the end of the file: tens of kB and half a millisecond for each. This keeps
 * the bytes of each entry, about 1 kB, which it cuts out of the metadata that the library writes for a file with this row group alone.
 */
function createMetadata(schema: Schema) {
  const empty = metadataOf(schema, 0n, []);
  const other = metadataOf(schema, 0n, [{ columns: [], total_byte_size: 0n, num_rows: 0n }]);
  /** Where the list of row groups begins, with a header of one byte, and the bytes after the list. These do not depend on the row groups. */
  const listStart = empty.findIndex((byte, index) => byte !== other[index]);
  const after = empty.subarray(listStart + 1);
  const blocks: Uint8Array[] = [];
  const block = new ByteWriter();
  let groups = 0;
  let rows = 0n;

  return {
    add(group: RowGroup): void {
      const alone = metadataOf(schema, 0n, [group]);
      block.appendBytes(alone.subarray(listStart + 1, alone.length - after.length));
      groups += 1;
      rows += group.num_rows;
      if (block.index >= BLOCK_BYTES) blocks.push(takeBytes(block));
    },
    parts(): Uint8Array[] {
      // The number of rows stands before the list.
      const before = metadataOf(schema, rows, []).subarray(0, -after.length - 1);
      return [before, listHeader(groups), ...blocks, takeBytes(block), after];
    },
  };
}

/** Begins a file with the given columns. */
export function createParquetFile(schema: Schema): ParquetFile {
  const writer = new ByteWriter();
  // Writes the first bytes of the file.
  const file = new ParquetWriter({ writer, schema, createdBy: CREATED_BY });
  const metadata = createMetadata(schema);
  return {
    writeGroup(columnData) {
      // Without the places of the pages in a column, which the library keeps to the end of the file: most columns have one page.
      const columns = columnData.map((column) => ({ ...column, offsetIndex: false }));
      file.write({ columnData: columns, rowGroupSize: columnData[0]?.data.length ?? 0 });
      for (const group of file.row_groups.splice(0)) metadata.add(group);
      file.pendingIndexes = [];
    },
    takeBytes: () => takeBytes(writer),
    *end() {
      const parts = metadata.parts();
      yield takeBytes(writer);
      yield* parts;
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(parts.reduce((sum, part) => sum + part.length, 0));
      yield Buffer.concat([length, MAGIC]);
    },
  };
}
