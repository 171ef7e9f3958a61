import type { ExportCredentials, ExportScheduleRecord } from '@waymark/catalog';

/**
 * The object storage that scheduled exports are written to (docs/reference/exports.md, Schedules). Each of its requests has a time limit, which
 * does not count the time in which the bytes of an object are produced.
 */
export interface Storage {
  /** Writes a small object. @throws StorageError */
  put(key: string, object: StoredText, signal: AbortSignal): Promise<void>;
  /**
   * Uploads an object of any size while its bytes are produced. It appears in the storage when it is complete, or not at all.
   *
   * @throws StorageError, or the error of the iteration over its bytes
   */
  upload(key: string, object: StoredBytes, signal: AbortSignal): Promise<void>;
}

interface StoredText {
  readonly text: string;
  readonly mediaType: string;
}

interface StoredBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly mediaType: string;
}

/** Opens a storage. Sends no request. */
export type OpenStorage = (
  destination: ExportScheduleRecord['destination'],
  credentials: ExportCredentials,
) => Promise<Storage>;
