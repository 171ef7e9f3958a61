import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { environmentWith } from '@waymark/config';

/**
 * Below the range that systems use for outgoing connections: otherwise a client that reconnects to a killed server could be given the
 * server's own port, and the server could not be restarted. Stacks use ports from 21,000 on.
 */
const FIRST_PORT = 11_000;
const PORT_COUNT = 10_000;
/** As many as vitest has workers. Each has ports of its own, because a server may listen long after `freePort` has returned its port. */
const SHARES = 3;
const SHARE = Number(environmentWith({}).VITEST_POOL_ID ?? 0) % SHARES;
/** Ports handed out by this process; their servers may not listen yet. */
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

/** A port on loopback that is free now, and unlikely to be used by another process. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + SHARES * randomInt(Math.floor(PORT_COUNT / SHARES)) + SHARE;
    if (assignedPorts.has(port)) continue;
    assignedPorts.add(port);
    if (await isFree(port)) return port;
  }
}
