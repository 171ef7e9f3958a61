import { createLogger, type Logger } from '@waymark/http-kit';
import type { PrepareAnswer, PrepareRequest } from './prepare-process.js';
import { prepareStores } from './prepare-stores.js';

/**
 * The process that prepares the stores and ends: the supervisor, which runs for as long as the stack, does without the memory that the
 * catalog and the clients of the stores take. It gets its request from the supervisor and ends when that ends.
 */
async function answer(message: unknown, logger: Logger): Promise<PrepareAnswer> {
  const request = message as PrepareRequest;
  const report = (line: string) => void process.send?.({ type: 'report', line } satisfies PrepareAnswer);
  try {
    const first = await prepareStores({ ...request, logger, report });
    return { type: 'prepared', apiKey: first?.apiKey };
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
