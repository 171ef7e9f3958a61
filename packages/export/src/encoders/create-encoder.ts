import { createCsvEncoder } from './csv.js';
import type { Encoder, EncoderOptions } from './encoder.js';
import { createNdjsonEncoder } from './ndjson.js';
import { createParquetEncoder } from './parquet.js';

/** Creates the encoder of one file, for its format. */
export function createEncoder<Item>(options: EncoderOptions<Item>): Encoder {
  switch (options.format) {
    case 'csv':
      return createCsvEncoder(options);
    case 'ndjson':
      return createNdjsonEncoder();
    case 'parquet':
      return createParquetEncoder(options.columns);
  }
}
