import { setTimeout as delay } from 'node:timers/promises';
import type { ExportJob } from '@waymark/contract';
import { TemporaryError } from '../api/api-requests.js';
import { CommandError } from '../command-error.js';
import type { ExportRequest } from './export-request.js';
import type { ExportDeps } from './stream-export.js';

const POLL_MS = 500;
const RUNNING: readonly string[] = ['queued', 'processing'];

/** The body of `POST /exports`. Parameters that are no fields of it become filters. */
function bodyOf({ resource, parameters }: ExportRequest): object {
  const { format, columns, escapeFormulas, ...filters } = parameters;
  return {
    resource,
    format,
    filters,
    columns: columns?.split(',').flatMap((column) => column.trim() || []),
    escapeFormulas: escapeFormulas === undefined ? undefined : escapeFormulas !== 'false',
  };
}

/** Downloads the file of a completed job. */
async function download({ api, output, counts }: ExportDeps, job: ExportJob): Promise<void> {
  const [file] = job.files;
  if (file === undefined) throw new CommandError(`the file of the export ${job.id} has been removed`);
  let written = 0;
  await api.untilDone(async (progressed) => {
    if (written === file.bytes) return;
    const path = `/exports/${job.id}/files/${file.name}`;
    const { status, body } = await api.send({ path, headers: { range: `bytes=${written}-` } });
    if (status !== 206) throw new CommandError('the API does not answer with parts of files');
    counts.phase = 'downloading';
    for await (const chunk of body) {
      await output.write(chunk);
      written += chunk.length;
      counts.bytes = written;
      progressed();
    }
    if (written < file.bytes) throw new TemporaryError('the response is not complete');
  });
}

/**
 * Has the server make the file, then downloads it. After a lost connection the job goes on by itself, and the download continues at the
 * next byte. If the command ends before its job, the job fails, because the command revokes its key.
 *
 * @throws CommandError when the job fails
 */
export async function jobExport(request: ExportRequest, deps: ExportDeps, signal: AbortSignal): Promise<ExportJob> {
  const { api, counts } = deps;
  // A repeat after a lost answer creates a second job. The first one ends at the latest when the key of this command is revoked.
  const created = await api.untilDone(() =>
    api.json<ExportJob>({ method: 'POST', path: '/exports', body: bodyOf(request) }),
  );
  const path = `/exports/${created.id}`;
  let job = created;
  while (RUNNING.includes(job.status)) {
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    // The reason of the signal is the message for the user; the error of `delay` is not.
    signal.throwIfAborted();
    job = await api.untilDone(() => api.json<ExportJob>({ path }));
    Object.assign(counts, { rows: job.rows, bytes: job.bytes, phase: `export job ${job.status}` });
  }
  if (job.status !== 'completed') {
    throw new CommandError(`the export job ${job.id} is ${job.status}${job.error === null ? '' : `: ${job.error}`}`);
  }
  Object.assign(counts, { rows: job.rows, bytes: 0 });
  await download(deps, job);
  return job;
}
