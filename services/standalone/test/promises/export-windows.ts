import { createHash } from 'node:crypto';
import type { ExportManifest } from '@waymark/contract';
import type { S3Server } from '@waymark/test-kit';
import { expect } from 'vitest';

/** An hour in milliseconds. */
export const HOUR_MS = 3_600_000;
/** The ISO 8601 text of a time in epoch milliseconds. */
export const iso = (ms: number) => new Date(ms).toISOString();
const BEGUN_MS = Date.now();
/** The start of the hour, some hours before the tests began. The windows of two hours ago and before are closed. */
export const hoursAgo = (hours: number) => (Math.floor(BEGUN_MS / HOUR_MS) - hours) * HOUR_MS;
/** Where the files of a window are in the storage. */
export const folderOf = (id: string, startMs: number) => `events/${id}/${iso(startMs).slice(0, 13)}`;

/** The manifest of a window; null if there is none. */
export async function readManifest(storage: S3Server, id: string, startMs: number): Promise<ExportManifest> {
  return JSON.parse((await storage.get(`${folderOf(id, startMs)}/manifest.json`)) ?? 'null') as ExportManifest;
}

/** The rows of a window by its manifest, whose numbers and hashes must be those of the files. */
export async function readRows(storage: S3Server, id: string, startMs: number): Promise<string[]> {
  const manifest = await readManifest(storage, id, startMs);
  const rows: string[] = [];
  for (const file of manifest.files) {
    const text = (await storage.get(file.key)) ?? '';
    const found = text.trimEnd().split('\n');
    expect([file.bytes, file.rows, file.sha256]).toEqual([
      ...[Buffer.byteLength(text), found.length],
      createHash('sha256').update(text).digest('hex'),
    ]);
    rows.push(...found);
  }
  expect(manifest.rows).toBe(rows.length);
  return rows;
}
