import { text, varuint, WireReader } from './wire.js';

const SIZES: readonly (readonly [type: RegExp, bytes: number])[] = [
  [/^(?:U?Int8|Bool|Enum8\b.*|Nothing)$/, 1],
  [/^(?:U?Int16|Date|Enum16\b.*)$/, 2],
  [/^(?:U?Int32|Float32|DateTime(?:\(.*\))?|Date32)$/, 4],
  [/^(?:U?Int64|Float64|DateTime64\(.*\))$/, 8],
  [/^UUID$/, 16],
];

function sizeOf(type: string): number | undefined {
  const fixed = /^FixedString\((\d+)\)$/.exec(type)?.[1];
  return fixed === undefined ? SIZES.find(([pattern]) => pattern.test(type))?.[1] : Number(fixed);
}

/** The type inside `Name(…)`; undefined if it is another type. */
function argumentOf(name: string, type: string): string | undefined {
  return type.startsWith(`${name}(`) ? type.slice(name.length + 1, -1) : undefined;
}

async function readStrings(reader: WireReader, count: number): Promise<Buffer[]> {
  const values: Buffer[] = [];
  for (let row = 0; row < count; row++) {
    const length = await reader.varuint();
    values.push(varuint(length), await reader.bytes(length));
  }
  return values;
}

async function readLowCardinality(reader: WireReader, inner: string, rows: number): Promise<Buffer[]> {
  const head = await reader.bytes(16);
  const count = await reader.bytes(8);
  const keys = await readColumn(reader, argumentOf('Nullable', inner) ?? inner, Number(count.readBigUInt64LE()));
  const rowCount = await reader.bytes(8);
  const indexBytes = 2 ** Number(head.readBigUInt64LE(8) & 0xffn);
  return [head, count, ...keys, rowCount, await reader.bytes(rows * indexBytes)];
}

/** Reads a column; its bytes are the result. */
async function readColumn(reader: WireReader, type: string, rows: number): Promise<Buffer[]> {
  const size = sizeOf(type);
  if (size !== undefined) return [await reader.bytes(size * rows)];
  if (type === 'String') return readStrings(reader, rows);
  const element = argumentOf('Array', type);
  if (element !== undefined) {
    const offsets = await reader.bytes(8 * rows);
    const count = rows === 0 ? 0 : Number(offsets.readBigUInt64LE(8 * (rows - 1)));
    return [offsets, ...(await readColumn(reader, element, count))];
  }
  const nullable = argumentOf('Nullable', type);
  if (nullable !== undefined) return [await reader.bytes(rows), ...(await readColumn(reader, nullable, rows))];
  const words = argumentOf('LowCardinality', type);
  if (words !== undefined) return readLowCardinality(reader, words, rows);
  const simple = /^SimpleAggregateFunction\(\w+, (.*)\)$/.exec(type)?.[1];
  if (simple !== undefined) return readColumn(reader, simple, rows);
  throw new Error(`the test cluster cannot transfer columns of type ${type}`);
}

/** A block of rows in the format Native. */
export interface NativeBlock {
  readonly columns: number;
  readonly rows: number;
  /** The whole block, as it is sent. */
  readonly bytes: Buffer;
}

/** Reads a block in the format Native. Its values are not parsed further than to find its end. Columns in `names` are renamed. */
export async function readBlock(reader: WireReader, names?: ReadonlyMap<string, string>): Promise<NativeBlock> {
  const [columns, rows] = [await reader.varuint(), await reader.varuint()];
  const parts = [varuint(columns), varuint(rows)];
  for (let column = 0; column < columns; column++) {
    const [name, type] = [await reader.text(), await reader.text()];
    parts.push(text(names?.get(name) ?? name), text(type));
    if (rows > 0) parts.push(...(await readColumn(reader, type, rows)));
  }
  return { columns, rows, bytes: Buffer.concat(parts) };
}

/** The blocks of a result in the format Native. */
export async function readBlocks(bytes: Buffer, names?: ReadonlyMap<string, string>): Promise<NativeBlock[]> {
  const reader = new WireReader();
  reader.push(bytes);
  const blocks: NativeBlock[] = [];
  while (!reader.isAtEnd) blocks.push(await readBlock(reader, names));
  return blocks;
}
