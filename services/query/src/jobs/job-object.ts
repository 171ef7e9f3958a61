import type { ExportJobRecord } from '@waymark/catalog';
import type { ExportJob } from '@waymark/contract';
import type { JobFiles } from './job-files.js';

/** The job object of responses and webhooks. Of a running job, `rows` and `bytes` are those of its last checkpoint. */
export async function jobObject(files: JobFiles, baseUrl: string, job: ExportJobRecord): Promise<ExportJob> {
  const { id, resource, format, columns, escapeFormulas, filters, status, file, error } = job;
  const { createdAt, startedAt, finishedAt, expiresAt } = job;
  const { rows, bytes } = (status === 'processing' ? await files.readCheckpoint(job) : undefined) ?? job;
  const url = `${baseUrl}/exports/${id}/files/${file}`;
  return {
    id,
    resource,
    format,
    columns,
    escapeFormulas,
    filters,
    status,
    rows,
    bytes,
    files: file === null || status !== 'completed' ? [] : [{ name: file, bytes, url }],
    error,
    createdAt,
    startedAt,
    finishedAt,
    expiresAt,
  };
}
