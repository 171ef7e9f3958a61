/**
 * Entry file of the process that prepares the stores and ends, so that the long-running supervisor need not hold the catalog and the store
 * clients in memory. Ends when the supervisor ends.
 */
import { createLogger, type Logger } from '@waymark/http-kit';
import type { PrepareAnswer, PrepareRequest } from './prepare-process.js';
import { prepareStores } from './prepare-stores.js';

/** Prepares the stores as requested. @returns the last message to the supervisor */
async function answer(message: unknown, logger: Logger): Promise<PrepareAnswer> {
  const request = message as PrepareRequest;
  const report = (line: string) => void process.send?.({ type: 'report', line } satisfies PrepareAnswer);
  try {
    return { type: 'prepared', apiKey: await prepareStores({ ...request, logger, report }) };
  } catch (err) {
    logger.error({ err }, 'the stores could not be prepared');
    return { type: 'failed', message: err instanceof Error ? err.message : String(err) };
  }
}

process.on('disconnect', () => process.exit());
process.once('message', async (message) => {
  const logger = createLogger({ name: 'prepare', level: (message as PrepareRequest).settings.logLevel });
  process.send?.(await answer(message, logger), () => process.disconnect());
});
