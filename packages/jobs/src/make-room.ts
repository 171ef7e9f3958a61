/** A job that has files on disk. */
export interface StoredJob<R> {
  readonly job: R;
  readonly workspaceId: string;
  readonly bytes: number;
  /** When the job ended, ISO 8601; null while its files are in use. */
  readonly finishedAt: string | null;
}

export interface RoomOptions<R> {
  /** Limit on the bytes of all files together. */
  readonly bytesMax: number;
  /** Bytes of all files, and the jobs that they belong to. */
  readonly stored: () => Promise<{ readonly bytes: number; readonly jobs: readonly StoredJob<R>[] }>;
  readonly remove: (job: R) => Promise<void>;
}

/** The workspace whose files have the most bytes. */
function largestOwner<R>(jobs: readonly StoredJob<R>[]): string | undefined {
  const used = new Map<string, number>();
  for (const { workspaceId, bytes } of jobs) used.set(workspaceId, (used.get(workspaceId) ?? 0) + bytes);
  return [...used].sort(([, one], [, other]) => other - one)[0]?.[0];
}

/**
 * Removes files until all together are within the limit. It always removes those of the oldest ended job of the workspace whose files have
 * the most bytes, so that no workspace loses files because another one uses more.
 *
 * @returns `isMade`: whether the files are within the limit. If not, `largest` is the workspace with the most bytes, whose files are all
 * in use
 */
export async function makeRoom<R>({
  bytesMax,
  stored,
  remove,
}: RoomOptions<R>): Promise<{ readonly isMade: boolean; readonly largest?: string | undefined }> {
  for (;;) {
    const { bytes, jobs } = await stored();
    if (bytes <= bytesMax) return { isMade: true };
    const owner = largestOwner(jobs);
    const [oldest] = jobs
      .filter((one) => one.workspaceId === owner && one.finishedAt !== null && one.bytes > 0)
      .sort((one, other) => ((one.finishedAt ?? '') < (other.finishedAt ?? '') ? -1 : 1));
    if (oldest !== undefined) await remove(oldest.job);
    else return { isMade: false, largest: owner };
  }
}
