/**
 * Runs `work` for each item, at most `atOnce` at a time. After an error it starts no more, waits for those in progress, and throws that
 * error.
 */
export async function eachOf<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let hasFailed = false;
  const workers = Array.from({ length: atOnce }, async () => {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (err) {
        hasFailed = true;
        throw err;
      }
    }
  });
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
