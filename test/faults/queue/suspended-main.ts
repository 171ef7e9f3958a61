import { setTimeout as delay } from 'node:timers/promises';
import { createEventProducer, invoiceClaim } from '@waymark/event-queue';
import type { SuspendedReport, SuspendedTask } from './messages.js';

// A process that takes the claim of an invoice, and stops itself when its sale waits for its transaction. It reports both, and then exits.

const { redisUrl, spoolDirectory, workspaceId, invoiceId, row, answer } = JSON.parse(
  process.argv[2] ?? '{}',
) as SuspendedTask;
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const report = (message: SuspendedReport) => process.send?.(message);
const producer = createEventProducer({ redisUrl, spoolDirectory, logger: silent });
const isConnected = () =>
  producer.ping().then(
    () => true,
    () => false,
  );
while (!(await isConnected())) await delay(10);

const name = invoiceClaim(workspaceId, invoiceId);
const owner = 'suspended';
await producer.claims.take([name], owner);
const committing = producer.commit({
  rows: [{ kind: 'sale', row }],
  finals: [{ name, owner, value: answer, ttlMs: 24 * 3_600_000 }],
});
report({ state: 'waiting' });
process.kill(process.pid, 'SIGSTOP');
await committing.then(
  () => report({ state: 'recorded' }),
  () => report({ state: 'refused' }),
);
await producer.close();
process.disconnect();
