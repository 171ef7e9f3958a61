/**
 * Each process reads the jobs with files of all workspaces at every poll, so that a workspace may have only so many.
 *
 * @param ended jobs that have ended, and have files
 * @param keptMax how many a workspace may have
 * @returns those that are too many for their workspace: all but the latest
 */
export function tooManyKept<R extends { readonly workspaceId: string; readonly finishedAt: string | null }>(
  ended: readonly R[],
  keptMax: number,
): readonly R[] {
  const latestFirst = ended.toSorted((one, other) => ((one.finishedAt ?? '') > (other.finishedAt ?? '') ? -1 : 1));
  const counts = new Map<string, number>();
  return latestFirst.filter(({ workspaceId }) => {
    const count = (counts.get(workspaceId) ?? 0) + 1;
    counts.set(workspaceId, count);
    return count > keptMax;
  });
}
