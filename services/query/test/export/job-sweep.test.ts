import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog, ExportJobRecord } from '@waymark/catalog';
import { formatResourceId } from '@waymark/contract';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, expect, it } from 'vitest';
import { createJobEnds } from '../../src/jobs/job-ends.js';
import { createJobFiles } from '../../src/jobs/job-files.js';

const directory = temporaryDirectory('waymark-job-sweep-');
afterAll(() => rm(directory, { recursive: true, force: true }));

it('files of an export that cannot be read are kept, and those of one that is gone are removed', async () => {
  const files = createJobFiles(directory);
  const [open, unreadable, gone] = ['1', '2', '3'].map((number) => formatResourceId('exportJob', number));
  for (const id of [open, unreadable, gone]) await mkdir(join(directory, String(id), '1'), { recursive: true });
  const catalog = { exportJobs: {} } as Catalog;
  const notifier = { ended: async () => undefined };
  const ends = createJobEnds({ catalog, files, notifier, bytesMax: 1, baseUrl: '', now: Date.now });
  await ends.sweep(await files.ids(), {
    records: [{ id: open, workspaceId: 'ws_1', status: 'processing', expiresAt: null } as unknown as ExportJobRecord],
    unreadable: [String(unreadable)],
  });
  expect((await readdir(directory)).sort()).toEqual([open, unreadable].sort());
});

it('a workspace keeps the latest thousand completed exports, and every export that has not ended', async () => {
  const files = createJobFiles(directory);
  const ended = (workspaceId: string, number: number, status: string) => ({
    ...{ id: formatResourceId('exportJob', String(number)), workspaceId, status, expiresAt: null },
    finishedAt: new Date(number * 1000).toISOString(),
  });
  const many = Array.from({ length: 1002 }, (_, index) => ended('ws_1', 10 + index, 'completed'));
  const others = [ended('ws_1', 8, 'processing'), ended('ws_1', 9, 'failed'), ended('ws_2', 7, 'completed')];
  const expired: string[] = [];
  const update = async (_: string, id: string) => void expired.push(id);
  const catalog = { exportJobs: { update } } as unknown as Catalog;
  const notifier = { ended: async () => undefined };
  const ends = createJobEnds({ catalog, files, notifier, bytesMax: 1, baseUrl: '', now: Date.now });
  await ends.sweep([], { records: [...others, ...many] as unknown as ExportJobRecord[], unreadable: [] });
  expect(expired.sort()).toEqual(
    many
      .slice(0, 2)
      .map(({ id }) => id)
      .sort(),
  );
});
