import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, expect, it, vi } from 'vitest';
import { createJobFiles } from '../../src/jobs/job-files.js';

const steps = vi.hoisted((): string[] => []);
const directory = temporaryDirectory('waymark-job-files-');
afterAll(() => rm(directory, { recursive: true, force: true }));

// Records what is synced and what is removed, in their order.
vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  return {
    ...original,
    async open(path: string, ...more: []) {
      const handle = await original.open(path, ...more);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        await sync();
        steps.push(`sync ${path}`);
      };
      return handle;
    },
    async rm(path: string, options: object) {
      steps.push(`rm ${path}`);
      await original.rm(path, options);
    },
  };
});

it.each(['copied', 'moved'])(
  'a file that is %s to the next attempt is on disk before that of the earlier one is removed',
  async (how) => {
    const files = createJobFiles(directory);
    const id = `job-${how}`;
    await files.begin({ id, attempt: 1 }, ['id']);
    const part = await files.openPart({ id, attempt: 1 });
    await part.append(Buffer.from('first'));
    await part.checkpoint({ rows: 1, bytes: 5, lastId: 'one', columns: ['id'] });
    if (how === 'moved') await part.close();
    steps.length = 0;
    expect(await files.begin({ id, attempt: 2 }, ['id'])).toMatchObject({ bytes: 5 });
    const seen = steps.map((step) => {
      const [verb = '', path = ''] = step.split(' ');
      return `${verb} ${relative(join(directory, id), path)}`;
    });
    expect(seen.slice(seen.indexOf('sync 2/part'))).toEqual(['sync 2/part', 'sync 2', 'rm 1']);
    if (how === 'copied') await part.close();
  },
);
