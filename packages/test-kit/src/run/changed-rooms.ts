import { execFileSync } from 'node:child_process';

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** Where the branch left main; the last commit where no main is known. */
function base(): string {
  for (const main of ['main', 'origin/main']) {
    try {
      return git('merge-base', main, 'HEAD');
    } catch {
      // A clone of one branch has no main.
    }
  }
  return 'HEAD';
}

/** The folders under `packages` and `services` with a change since main, committed or not. */
export function changedRooms(): string[] {
  const changed = git('diff', '--name-only', base());
  const added = git('ls-files', '--others', '--exclude-standard');
  const rooms = `${changed}\n${added}`
    .split('\n')
    .flatMap((path) => /^(?:packages|services)\/[^/]+(?=\/)/.exec(path) ?? []);
  return [...new Set(rooms)].sort();
}
