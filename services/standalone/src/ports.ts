import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Listens on `port` at `host` for a moment and returns the port, or the error that prevented it. */
async function tryPort(port: number, host: string): Promise<number | NodeJS.ErrnoException> {
  const probe = createServer();
  try {
    probe.listen({ port, host, exclusive: true });
    await once(probe, 'listening');
    return (probe.address() as AddressInfo).port;
  } catch (err) {
    return err as NodeJS.ErrnoException;
  } finally {
    probe.close();
  }
}

const NOT_A_LOCAL_ADDRESS: ReadonlySet<string | undefined> = new Set([
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EINVAL',
]);

/**
 * Checks that a configured port is free, without reserving it. Returns it or, for 0, any free port.
 *
 * @throws Error naming the setting when the port is in use or forbidden, or `HOST` when that is no address of this machine
 */
export async function checkPort(setting: string, port: number, host: string): Promise<number> {
  const free = await tryPort(port, host);
  if (typeof free === 'number') return free;
  if (NOT_A_LOCAL_ADDRESS.has(free.code)) throw new Error(`HOST: ${host} is no address of this machine`);
  throw new Error(`port ${port} of ${host} cannot be listened on: stop what uses it, or set ${setting}`);
}
