import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { reportShortages } from '../../src/data-dir/disk-needs.js';

const MEGABYTE = 1024 ** 2;
const ONE_MACHINE = {
  dataDir: `${tmpdir()}/waymark-not-there-yet`,
  redisUrl: undefined,
  clickhouseUrl: undefined,
  redisMaxmemoryMb: 1,
  spoolBytesMax: MEGABYTE,
};

async function shortages(settings: Partial<Parameters<typeof reportShortages>[0]>) {
  const lines: string[] = [];
  await reportShortages({ ...ONE_MACHINE, ...settings }, (line) => lines.push(line));
  return lines;
}

it('names the setting, the directory, what is free and what happens when the disk is full', async () => {
  const lines = await shortages({ redisMaxmemoryMb: 1_000_000_000, spoolBytesMax: 2_000_000_000 * MEGABYTE });
  expect(lines.filter((line) => /^(REDIS|SPOOL)_MAX/.test(line))).toEqual([
    expect.stringMatching(/^REDIS_MAXMEMORY_MB: \S+\/redis has \d+ MB free of the 3000000000 MB that .*Redis stops/),
    expect.stringMatching(/^SPOOL_MAX_MB: \S+\/spool has \d+ MB free of the 2000000000 MB that .*clicks are lost/),
  ]);
});

it('does not report the space for a Redis that is elsewhere', async () => {
  const lines = await shortages({ redisMaxmemoryMb: 1_000_000_000, redisUrl: 'redis://redis.example' });
  expect(lines.filter((line) => line.startsWith('REDIS'))).toEqual([]);
});
