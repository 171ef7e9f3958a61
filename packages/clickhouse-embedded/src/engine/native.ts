import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** A connection of the native library. Opaque to JavaScript. */
export type NativeConnection = object & { readonly __brand: 'chdb connection' };

interface NativeResult {
  readonly bytes: Buffer;
  readonly rowsRead: number;
  readonly bytesRead: number;
}

interface NativeInsertResult {
  /** What the views wrote included, as in the server's summary. */
  readonly rowsWritten: number;
  readonly bytesWritten: number;
  /** Lines of the data. */
  readonly rowsSent?: number;
}

/** The functions of chDB's addon that the server needs; each `Async` one runs on a thread of libuv's pool. */
export interface NativeEngine {
  CreateConnection(path: string, args: readonly string[]): NativeConnection;
  CloseConnection(connection: NativeConnection): void;
  QueryAsyncConnection(connection: NativeConnection, sql: string, format: string): Promise<NativeResult>;
  /** Runs `sql` followed by the bytes of `data`, which are not copied through a string. */
  InsertRawAsyncConnection(
    connection: NativeConnection,
    sql: string,
    data: Buffer,
    countLines: boolean,
  ): Promise<NativeInsertResult>;
  /** Parses only. */
  DurableClassifyAsync(
    connection: NativeConnection,
    sql: string,
    database: null,
  ): Promise<{ readonly statementCount: number }>;
}

/**
 * Loads chDB's addon. The package's own `Session` is passed by: it runs one statement with parameters at a time in the whole
 * process, and writes the texts of inserts itself. The path inside the package is private, hence its exact version.
 */
export function loadNativeEngine(): NativeEngine {
  const require = createRequire(import.meta.url);
  const loader = join(dirname(require.resolve('chdb/package.json')), 'dist', 'loader.js');
  return (require(loader) as { loadNative(): NativeEngine }).loadNative();
}
