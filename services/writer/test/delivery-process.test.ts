import { waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { startDeliveryProcess } from '../src/delivery-process.js';

it('a delivery process that cannot be spawned is tried again, and does not delay the shutdown of the writer', async () => {
  const { execPath } = process;
  onTestFinished(() => {
    process.execPath = execPath;
  });
  process.execPath = '/nowhere/node';
  const errors: unknown[] = [];
  const logger = { debug: () => undefined, error: (fields: { err?: unknown }) => void errors.push(fields.err) };
  const deliveries = startDeliveryProcess({ isNeeded: async () => true, logger, closeMs: 60_000 });
  await waitFor(() => errors.length >= 2, { what: 'a second attempt' });
  expect(errors).toMatchObject([{ code: 'ENOENT' }, { code: 'ENOENT' }]);
  await deliveries.close();
});
