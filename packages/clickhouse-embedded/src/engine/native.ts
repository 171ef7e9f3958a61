import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** A connection of the native library. Opaque to JavaScript. */
export type NativeConnection = object & { readonly __brand: 'chdb connection' };

/** The result of a query, in the format of the call. */
interface NativeResult {
  readonly bytes: Buffer;
}

interface NativeInsertResult {
  /** Includes the rows written by views, as in the summary of a ClickHouse server. */
  readonly rowsWritten: number;
  readonly bytesWritten: number;
  /** Number of lines in the data. */
  readonly rowsSent?: number;
}

/** The functions of chDB's native addon that the server uses. The `Async` ones run on a thread of libuv's pool. */
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
  /** Parses the SQL without running it. */
  DurableClassifyAsync(
    connection: NativeConnection,
    sql: string,
    database: null,
  ): Promise<{ readonly statementCount: number }>;
}

/**
 * Loads chDB's native addon. The package's public `Session` is not used: it runs only one statement with parameters at a time in
 * the whole process, and builds the text of inserts itself. The path inside the package is private, so its version is pinned.
 */
export function loadNativeEngine(): NativeEngine {
  const require = createRequire(import.meta.url);
  const loader = join(dirname(require.resolve('chdb/package.json')), 'dist', 'loader.js');
  return (require(loader) as { loadNative(): NativeEngine }).loadNative();
}
