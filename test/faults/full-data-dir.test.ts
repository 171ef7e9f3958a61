import assert from 'node:assert';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../services/cli/test/run-cli.js';
import { runUp, UP_MS_MAX, type Up } from '../../services/standalone/test/process/run-up.js';
import { mountSmallDisk, noSmallDisk, type SmallDisk } from './small-disk.js';

const reason = noSmallDisk();

describe.skipIf(reason !== undefined)(
  `a full disk of DATA_DIR${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let disk: SmallDisk;
    let up: Up;

    beforeAll(async () => {
      disk = mountSmallDisk(300);
      up = runUp(disk.directory);
      await up.ready();
    }, UP_MS_MAX);
    afterAll(async () => {
      await up.stop();
      disk.unmount();
    }, UP_MS_MAX);

    it(
      'is named in the terminal when a process ends, and by status, until there is room',
      async () => {
        const status = () => runCli({ DATA_DIR: disk.directory }, 'status');
        // Not all of it: the stack writes meanwhile.
        disk.fill(4 * 1024 ** 2);
        const full = `the disk of ${disk.directory} is full`;
        const writer = up.state()?.pids.writer;
        // Without an id, or with 0, the signal would end the test run.
        assert(writer);
        process.kill(writer, 'SIGKILL');
        await waitFor(() => up.output().includes(full), { what: 'the reason in the terminal' });
        const { code, stdout } = await status();
        expect([code, stdout]).toEqual([1, expect.stringContaining(`disk        failed: ${full}`)]);
        disk.free();
        await waitFor(async () => (await status()).code === 0, { what: 'a healthy stack', timeoutMs: 60_000 });
      },
      UP_MS_MAX,
    );
  },
);
