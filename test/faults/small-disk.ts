import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own, in memory, that a test fills up. */
export interface SmallDisk {
  readonly directory: string;
  /** Leaves `bytes` free. */
  fill(bytes: number): void;
  /** Frees what `fill` has taken. */
  free(): void;
  unmount(): void;
}

/** Why {@link mountSmallDisk} cannot work here; undefined if it can. */
export function noSmallDisk(): string | undefined {
  if (process.platform !== 'linux') return 'tmpfs exists on Linux only';
  if (process.getuid?.() !== 0) return 'mounting a tmpfs needs root';
  try {
    mountSmallDisk(1).unmount();
    return undefined;
  } catch (err) {
    return `a tmpfs cannot be mounted: ${err instanceof Error ? err.message : String(err)}`;
  }
}

/** Mounts a tmpfs of that size below the directory for temporary files; needs root. */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const directory = mkdtempSync(join(tmpdir(), 'waymark-small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tmpfs', directory], { stdio: 'pipe' });
  const filler = join(directory, 'filler');
  return {
    directory,
    fill(bytes) {
      rmSync(filler, { force: true });
      const { bavail, bsize } = statfsSync(directory);
      writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
    },
    free: () => rmSync(filler, { force: true }),
    unmount() {
      execFileSync('umount', ['--lazy', directory]);
      rmdirSync(directory);
    },
  };
}
