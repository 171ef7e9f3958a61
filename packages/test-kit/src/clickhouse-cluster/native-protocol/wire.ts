/** Reads values of ClickHouse's native protocol from bytes that may not be complete yet. */
export class WireReader {
  #bytes: Buffer = Buffer.alloc(0);
  #position = 0;
  #more: (() => void) | undefined;

  /** Appends bytes that have arrived. */
  push(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes.subarray(this.#position), bytes]);
    this.#position = 0;
    this.#more?.();
  }

  /** Whether all bytes that were pushed have been read. */
  get isAtEnd(): boolean {
    return this.#position === this.#bytes.length;
  }

  /** The next `length` bytes; waits until all of them have been pushed. One read at a time. */
  async bytes(length: number): Promise<Buffer> {
    while (this.#bytes.length - this.#position < length) {
      await new Promise<void>((resolve) => {
        this.#more = resolve;
      });
    }
    this.#position += length;
    return this.#bytes.subarray(this.#position - length, this.#position);
  }

  async byte(): Promise<number> {
    return (await this.bytes(1)).readUInt8();
  }

  /** An unsigned number of variable length: seven bits a byte, the lowest first. */
  async varuint(): Promise<number> {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = await this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  /** A string, which follows its length in bytes. */
  async text(): Promise<string> {
    return (await this.bytes(await this.varuint())).toString('utf8');
  }
}

/** The bytes of an unsigned number, as {@link WireReader.varuint} reads them. */
export function varuint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest >= 128 ? (rest % 128) | 128 : rest);
    if (rest < 128) return Buffer.from(bytes);
  }
}

/** A string in the native protocol: its length in bytes as a {@link varuint}, then UTF-8. */
export function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varuint(bytes.length), bytes]);
}
