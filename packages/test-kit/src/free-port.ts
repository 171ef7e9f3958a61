import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the range systems hand out for outgoing connections: one of those, even a client's that looks for a server which was just
 * killed, could be given the port, and the server could not come back. A stack takes its own from 21,000 on.
 */
const FIRST_PORT = 11_000;
const PORT_COUNT = 10_000;
/** Whoever was given one may not listen on it yet. */
const assignedPorts = new Set<number>();

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

/** A port of loopback that was free a moment ago, and is not likely to be taken by anybody else. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + randomInt(PORT_COUNT);
    if (assignedPorts.has(port)) continue;
    assignedPorts.add(port);
    if (await isFree(port)) return port;
  }
}
