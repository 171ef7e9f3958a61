import { expect, it } from 'vitest';
import type { ApiRequests } from '../../src/api/api-requests.js';
import { CommandError } from '../../src/command-error.js';
import { jobExport } from '../../src/export/job-export.js';

it('an interrupt while the server makes the file ends the command with the message for it', async () => {
  const stop = new AbortController();
  const job = { id: 'exp_1', status: 'processing', rows: 0, bytes: 0 };
  const api: ApiRequests = {
    send: () => Promise.reject(new Error('nothing to download')),
    json: async <T>() => job as T,
    untilDone: (attempt) => attempt(() => undefined),
  };
  const counts = { rows: 0, bytes: 0, phase: '' };
  const output = { write: async () => undefined, complete: async () => undefined, discard: async () => undefined };
  const exporting = jobExport(
    { resource: 'events', format: 'csv', parameters: {} },
    { api, output, counts },
    stop.signal,
  );
  stop.abort(new CommandError('interrupted'));
  await expect(exporting).rejects.toThrow('interrupted');
});
