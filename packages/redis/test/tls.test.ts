import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, launchRedis, startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkWritable, connectRedis, keyPrefix } from '../src/index.js';

/** A certificate for 127.0.0.1 that is its own authority. */
function makeCertificate(directory: string): void {
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')],
    ],
    { stdio: 'ignore' },
  );
}

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe.skipIf(!hasOpenssl)('with TLS', () => {
  let directory: string;
  let tlsArguments: string[];
  let ca: Buffer;
  const open: Redis[] = [];

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'waymark-tls-'));
    makeCertificate(directory);
    const certificate = join(directory, 'cert.pem');
    ca = readFileSync(certificate);
    const files = ['--tls-cert-file', certificate, '--tls-key-file', join(directory, 'key.pem')];
    tlsArguments = [...files, '--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'];
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** @param trusts whether the client trusts the certificate */
  function connect(url: string, trusts = true): Redis {
    const trusted = trusts ? { tls: { ca }, sentinelTLS: { ca } } : {};
    const redis = connectRedis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 0, ...trusted });
    redis.on('error', () => undefined);
    open.push(redis);
    return redis;
  }

  /** Waits until the connection takes writes, and checks that it uses TLS. */
  async function expectTls(redis: Redis): Promise<void> {
    await waitFor(() => checkWritable(redis).then(() => true), { what: 'a server that takes writes' });
    expect(redis.stream).toMatchObject({ encrypted: true, authorized: true });
  }

  async function withServer(args: readonly string[], work: (server: TestRedis, tlsPort: number) => Promise<void>) {
    const tlsPort = await freePort();
    const server = await startRedis({ args: ['--tls-port', String(tlsPort), ...tlsArguments, ...args] });
    try {
      await work(server, tlsPort);
    } finally {
      for (const redis of open.splice(0)) redis.disconnect();
      await server.stop();
    }
  }

  it('a server and a cluster are reached through their TLS ports, and only with a trusted certificate', async () => {
    const busPort = await freePort();
    const args = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--tls-cluster', 'yes'];
    await withServer(args, async ({ url }, tlsPort) => {
      await connect(url, false).call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
      const cluster = connect(`rediss+cluster://127.0.0.1:${tlsPort}`);
      await expectTls(cluster);
      expect(keyPrefix(cluster)).not.toBe('');
      await expectTls(connect(`rediss://127.0.0.1:${tlsPort}`));
      const errors: string[] = [];
      const untrusting = connect(`rediss+cluster://127.0.0.1:${tlsPort}`, false);
      untrusting.on('error', (err: Error) => errors.push(err.message));
      await waitFor(() => errors.length > 2, { what: 'refusals' });
      expect(untrusting.status).not.toBe('ready');
    });
  });

  it('Sentinels are queried through TLS, and return a TLS port', async () => {
    await withServer([], async (_server, tlsPort) => {
      const [port, sentinelPort] = await Promise.all([freePort(), freePort()]);
      const file = join(directory, 'sentinel.conf');
      writeFileSync(file, `dir ${directory}\nsentinel monitor waymark 127.0.0.1 ${tlsPort} 1\n`);
      const ports = ['--port', String(port), '--tls-port', String(sentinelPort), '--tls-replication', 'yes'];
      const sentinel = await launchRedis(port, [file, '--sentinel', ...ports, ...tlsArguments]);
      try {
        await expectTls(connect(`rediss+sentinel://127.0.0.1:${sentinelPort}/waymark`));
      } finally {
        sentinel.kill('SIGKILL');
      }
    });
  });
});
