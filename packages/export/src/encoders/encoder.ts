import type { ExportFormat } from '@waymark/contract';
import type { NamedColumn } from '../columns.js';

/** Encodes the items of one file, in their order. */
export interface Encoder {
  /** Encodes the next items. @param items JSON texts of API objects @returns the next bytes of the file, which may be none */
  encode(items: readonly string[]): Uint8Array;
  /** The bytes after the last item, in parts. Let other work run between two parts. */
  end(): Iterable<Uint8Array>;
}

export interface EncoderOptions<Item> {
  readonly format: ExportFormat;
  readonly columns: readonly NamedColumn<Item>[];
  /** Puts `'` before texts that a spreadsheet would evaluate as formulas. Only for CSV. */
  readonly escapesFormulas: boolean;
  /** Whether the file continues an earlier one. A CSV file then has no header row. */
  readonly isContinuation: boolean;
}
