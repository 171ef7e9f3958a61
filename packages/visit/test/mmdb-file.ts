/** Writes small databases in the MaxMind DB format 2.0 (IPv4, 24-bit records), since none can be shipped with the tests. */

type Value = string | number | readonly Value[] | { readonly [name: string]: Value };

const STRING = 2;
const UINT32 = 6;
const MAP = 7;
const ARRAY = 11;
const DATA_SEPARATOR_BYTES = 16;

function control(type: number, size: number): Buffer {
  if (size >= 29) {
    if (size >= 285) throw new RangeError('too large for this writer');
    return type > 7 ? Buffer.from([29, type - 7, size - 29]) : Buffer.from([(type << 5) | 29, size - 29]);
  }
  return type > 7 ? Buffer.from([size, type - 7]) : Buffer.from([(type << 5) | size]);
}

function encode(value: Value): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'utf8');
    return Buffer.concat([control(STRING, bytes.length), bytes]);
  }
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(UINT32, 4), bytes]);
  }
  if (Array.isArray(value)) return Buffer.concat([control(ARRAY, value.length), ...value.map((item) => encode(item))]);
  const entries = Object.entries(value);
  return Buffer.concat([
    control(MAP, entries.length),
    ...entries.flatMap(([name, item]) => [encode(name), encode(item)]),
  ]);
}

/** @param entries value of every network, as `192.0.2.0/24` */
export function mmdbFile(entries: Readonly<Record<string, Value>>): Buffer {
  const data: Buffer[] = [];
  const offsets: number[] = [];
  let offset = 0;
  const nodes: (number | undefined | { data: number })[][] = [[undefined, undefined]];

  for (const [network, value] of Object.entries(entries)) {
    const [address = '', bits = '32'] = network.split('/');
    const encoded = encode(value);
    data.push(encoded);
    offsets.push(offset);
    const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
    let node = 0;
    for (let depth = 0; depth < Number(bits); depth++) {
      const side = Math.floor(number / 2 ** (31 - depth)) % 2;
      if (depth === Number(bits) - 1) {
        nodes[node]![side] = { data: offset };
      } else {
        const next = nodes[node]![side];
        if (typeof next === 'number') node = next;
        else {
          nodes.push([undefined, undefined]);
          nodes[node]![side] = nodes.length - 1;
          node = nodes.length - 1;
        }
      }
    }
    offset += encoded.length;
  }

  const tree = Buffer.alloc(nodes.length * 6);
  nodes.forEach((records, index) => {
    records.forEach((record, side) => {
      const value =
        record === undefined
          ? nodes.length
          : typeof record === 'number'
            ? record
            : nodes.length + DATA_SEPARATOR_BYTES + record.data;
      tree.writeUIntBE(value, index * 6 + side * 3, 3);
    });
  });
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: 'Test-City',
    description: { en: 'test' },
    ip_version: 4,
    languages: ['en'],
    node_count: nodes.length,
    record_size: 24,
  });
  return Buffer.concat([
    tree,
    Buffer.alloc(DATA_SEPARATOR_BYTES),
    ...data,
    Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'),
    metadata,
  ]);
}
