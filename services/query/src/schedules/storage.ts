import type { ExportCredentials, ExportScheduleRecord } from '@waymark/catalog';

/** The object storage that scheduled exports are written to (docs/reference/exports.md, Schedules). */
export interface Storage {
  /** Writes a small object. @throws StorageError */
  put(key: string, object: StoredText, signal: AbortSignal): Promise<void>;
  /**
   * Writes an object of any size as it is made. It appears when it is complete, or not at all.
   *
   * @throws StorageError, or what making the bytes has thrown
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

export type OpenStorage = (
  destination: ExportScheduleRecord['destination'],
  credentials: ExportCredentials,
) => Promise<Storage>;
