import { createHash } from 'node:crypto';
import { checkPort } from '../src/ports.js';

/** Below the ports that systems assign to outgoing connections, so that a restarted process finds its port free again. */
const FIRST_PORT = 21_000;
const PORT_COUNT = 10_000;
const TRIES = 200;

/** A free loopback port, derived from `name`: the same at every start unless another process has it. */
export async function stablePort(name: string): Promise<number> {
  const start = createHash('sha256').update(name).digest().readUInt32BE(0) % PORT_COUNT;
  for (let step = 0; step < TRIES; step += 1) {
    const port = FIRST_PORT + ((start + step) % PORT_COUNT);
    const isFree = await checkPort(name, port, '127.0.0.1').then(
      () => true,
      () => false,
    );
    if (isFree) return port;
  }
  throw new Error(`no free port on 127.0.0.1 from ${FIRST_PORT + start} on`);
}
