import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** A connection of the native library. Opaque to JavaScript. */
export type NativeConnection = object & { readonly __brand: 'chdb connection' };

/** The functions of chDB's addon that the server needs; each `Async` one runs on a thread of libuv's pool. */
export interface NativeEngine {
  CreateConnection(path: string, args: readonly string[]): NativeConnection;
  CloseConnection(connection: NativeConnection): void;
  QueryAsyncConnection(connection: NativeConnection, sql: string, format: string): Promise<NativeResult>;
  /** Runs `sql` followed by the bytes of `data`, without copying them through a string. */
  InsertRawAsyncConnection(
    connection: NativeConnection,
    sql: string,
    data: Buffer,
    countLines: boolean,
  ): Promise<NativeInsertResult>;
}

interface NativeResult {
  readonly bytes: Buffer;
  readonly rowsRead: number;
  readonly bytesRead: number;
}

interface NativeInsertResult {
  readonly rowsWritten: number;
  readonly bytesWritten: number;
}

/**
 * Loads chDB's addon. The package's own `Session` is passed by: it opens one statement path for parameters that is shared by
 * the whole process, and builds INSERT texts itself. The path inside the package is private, hence its exact version.
 */
export function loadNativeEngine(): NativeEngine {
  const require = createRequire(import.meta.url);
  const loader = join(dirname(require.resolve('chdb/package.json')), 'dist', 'loader.js');
  return (require(loader) as { loadNative(): NativeEngine }).loadNative();
}
