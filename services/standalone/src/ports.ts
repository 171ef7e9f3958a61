import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Below the range systems hand out for outgoing connections, so that a restarted store finds its port free again. */
const FIRST_PORT = 21_000;
const PORT_COUNT = 10_000;
const TRIES = 200;

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

const NO_ADDRESS_OF_OURS: ReadonlySet<string | undefined> = new Set([
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EINVAL',
]);

/**
 * The configured port, 0 = any.
 *
 * @throws Error naming the setting when the port is in use or forbidden, or `HOST` when that is no address of this machine
 */
export async function claimPort(setting: string, port: number, host: string): Promise<number> {
  const free = await tryPort(port, host);
  if (typeof free === 'number') return free;
  if (NO_ADDRESS_OF_OURS.has(free.code)) throw new Error(`HOST: ${host} is no address of this machine`);
  throw new Error(`port ${port} of ${host} cannot be listened on: stop what uses it, or set ${setting}`);
}

/** A free loopback port, derived from `name`: the same at every start unless another process has it. */
export async function stablePort(name: string): Promise<number> {
  const start = createHash('sha256').update(name).digest().readUInt32BE(0) % PORT_COUNT;
  for (let step = 0; step < TRIES; step += 1) {
    const port = FIRST_PORT + ((start + step) % PORT_COUNT);
    if (typeof (await tryPort(port, '127.0.0.1')) === 'number') return port;
  }
  throw new Error(`no free port on 127.0.0.1 from ${FIRST_PORT + start} on`);
}
