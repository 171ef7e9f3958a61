import { expect, it } from 'vitest';
import { storesToPrepare } from './stores-to-prepare.js';

/** Longer than a request waits for a lock. */
const LEFT_MS = 12_000;

type Stores = Awaited<ReturnType<typeof storesToPrepare>>;

/**
 * The lock of a killed start, which expires some time after another start has tried to take it.
 *
 * @returns a function that waits until one has tried
 */
async function leaveLock({ client }: Stores, lock: string): Promise<() => Promise<void>> {
  await client.set(lock, 'of a killed start');
  const monitor = await client.monitor();
  const tried = new Promise<void>((resolve) =>
    monitor.on('monitor', (_time: string, [command, key]: string[]) => {
      if (command?.toLowerCase() !== 'set' || key !== lock) return;
      monitor.disconnect();
      void client.pexpire(lock, LEFT_MS).then(() => resolve());
    }),
  );
  return () => tried;
}

it('a start waits for the locks of one that was killed while it created the first workspace, or added the default domain', async () => {
  const [first, second] = [await storesToPrepare(), await storesToPrepare()];
  await second.prepare();
  const prepare = async (stores: Stores, domain: string) => {
    const untilTried = await leaveLock(stores, `waymark:lock:domain-host/${domain}`);
    const apiKey = await stores.prepare(domain);
    await untilTried();
    return { hasKey: apiKey !== undefined, domain: (await stores.catalog.domains.findBySlug(domain))?.slug };
  };
  const prepared = await Promise.all([prepare(first, 'one.example'), prepare(second, 'two.example')]);
  expect(prepared).toEqual([
    { hasKey: true, domain: 'one.example' },
    { hasKey: false, domain: 'two.example' },
  ]);
}, 60_000);
