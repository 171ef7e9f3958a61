import { execFileSync } from 'node:child_process';

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** The commit at which the branch left main; the last commit if there is no main. */
function baseCommit(): string {
  for (const main of ['main', 'origin/main']) {
    try {
      return git('merge-base', main, 'HEAD');
    } catch {
      // A clone of a single branch has no main.
    }
  }
  return 'HEAD';
}

/** Folders under `packages` and `services` that have changed since main, committed or not. */
export function changedRooms(): string[] {
  const changed = git('diff', '--name-only', baseCommit());
  const added = git('ls-files', '--others', '--exclude-standard');
  const rooms = `${changed}\n${added}`
    .split('\n')
    .flatMap((path) => /^(?:packages|services)\/[^/]+(?=\/)/.exec(path) ?? []);
  return [...new Set(rooms)].sort();
}
