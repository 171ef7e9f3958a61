import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { prepareStoreSockets } from '../src/index.js';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const LONG = 'a-name-of-forty-characters-in-a-long-path'.repeat(3);

describe('the sockets of the stores', () => {
  let home: string;
  /** Directories outside of `home`. */
  let made: string[];
  const modeOf = (path: string) => statSync(path).mode & 0o777;
  async function directoryOf(dataDir: string): Promise<string> {
    const { redis, clickhouse } = await prepareStoreSockets(dataDir);
    expect([redis, clickhouse]).toEqual([join(dirname(redis), 'redis.sock'), join(dirname(redis), 'clickhouse.sock')]);
    if (!redis.startsWith(home)) made.push(dirname(redis));
    return dirname(redis);
  }
  function longDataDir(): string {
    const dataDir = join(home, LONG);
    mkdirSync(dataDir, { recursive: true });
    return dataDir;
  }

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'waymark-sockets-'));
    made = [];
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    for (const directory of [home, ...made]) rmSync(directory, { recursive: true, force: true });
  });

  it('are in DATA_DIR/run, which is closed to other users even if it was open before', async () => {
    const run = join(home, 'run');
    expect(await directoryOf(home)).toBe(run);
    expect(modeOf(run)).toBe(0o700);
    chmodSync(run, 0o777);
    expect(await directoryOf(home)).toBe(run);
    expect(modeOf(run)).toBe(0o700);
  });

  it('are in a directory for temporary files, one for each DATA_DIR, if the path would be too long', async () => {
    const dataDir = longDataDir();
    const directory = await directoryOf(dataDir);
    expect(dirname(directory)).toBe(tmpdir());
    expect(modeOf(directory)).toBe(0o700);
    expect(await directoryOf(dataDir)).toBe(directory);
    expect(await directoryOf(`${dataDir}-2`)).not.toBe(directory);
  });

  it('are in /tmp if the path of that directory is too long as well', async () => {
    vi.stubEnv('TMPDIR', longDataDir());
    expect(dirname(await directoryOf(longDataDir()))).toBe('/tmp');
  });

  it.skipIf(!isRoot)(
    'are elsewhere if another user may write to DATA_DIR, or owns it or its directory run',
    async () => {
      const shared = join(home, 'shared');
      mkdirSync(shared);
      chmodSync(shared, 0o777);
      expect(dirname(await directoryOf(shared))).toBe(tmpdir());
      chmodSync(shared, 0o755);
      chownSync(shared, NOBODY, NOBODY);
      expect(dirname(await directoryOf(shared))).toBe(tmpdir());
      mkdirSync(join(home, 'run'));
      chownSync(join(home, 'run'), NOBODY, NOBODY);
      expect(dirname(await directoryOf(home))).toBe(tmpdir());
      expect(lstatSync(join(home, 'run')).uid).toBe(NOBODY);
    },
  );

  it.skipIf(!isRoot)('are never in a directory of another user, nor behind a symbolic link', async () => {
    const dataDir = longDataDir();
    vi.stubEnv('TMPDIR', '/tmp');
    const directory = await directoryOf(dataDir);
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
    chmodSync(directory, 0o777);
    chownSync(directory, NOBODY, NOBODY);
    await expect(prepareStoreSockets(dataDir)).rejects.toThrow(`${directory}: is no directory of this user`);
    expect(lstatSync(directory).uid).toBe(NOBODY);

    rmSync(directory, { recursive: true });
    symlinkSync(home, directory);
    await expect(prepareStoreSockets(dataDir)).rejects.toThrow(`${directory}: is no directory of this user`);
  });
});
