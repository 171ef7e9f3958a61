import type { ExportFormat } from '@waymark/contract';
import type { NamedColumn } from '../columns.js';

/** Turns items into the bytes of a file, in order. */
export interface Encoder {
  /** @param items JSON texts of API objects */
  encode(items: readonly string[]): Uint8Array;
  /** The bytes after the last item. */
  end(): Uint8Array;
}

export interface EncoderOptions<Item> {
  readonly format: ExportFormat;
  readonly columns: readonly NamedColumn<Item>[];
  /** Puts `'` before texts that a spreadsheet would run. Only for CSV. */
  readonly escapesFormulas: boolean;
  /** Whether the file continues an earlier one. A CSV file then has no header row. */
  readonly isContinuation: boolean;
}
