import type { ImportJobRecord } from '@waymark/catalog';
import type { ImportJob } from '@waymark/contract';
import type { ImportFiles } from './import-files.js';

/** The import object of every response. The progress of a running import is that of its last checkpoint. */
export async function importObject(files: ImportFiles, baseUrl: string, job: ImportJobRecord): Promise<ImportJob> {
  const { id, source, format, address, sourceWorkspace, domains, dryRun, tags, history, onConflict, timezone } = job;
  const { status, bytes, error, createdAt, startedAt, finishedAt, expiresAt } = job;
  const checkpoint = status === 'processing' ? await files.readCheckpoint(job) : undefined;
  const { rows, created, updated, skipped, rejected } = checkpoint?.counts ?? job;
  const isRead = status === 'completed';
  return {
    id,
    source,
    format,
    address,
    sourceWorkspace,
    domains,
    dryRun,
    tags,
    history,
    onConflict,
    timezone,
    status,
    rows,
    created,
    updated,
    skipped,
    rejected,
    lost: checkpoint?.reports.lost ?? job.lost,
    bytes,
    bytesRead: bytes === null || isRead ? bytes : (checkpoint?.bytesRead ?? job.bytesRead),
    files: job.files.map((file) => ({ ...file, url: `${baseUrl}/imports/${id}/${file.name}` })),
    error,
    createdAt,
    startedAt,
    finishedAt,
    expiresAt,
  };
}
