import { describeSettings, loadSettings, type Settings } from '@waymark/config';
import { createLogger, type Logger, runService, type Service } from '@waymark/http-kit';

/**
 * The main function of a service's process: reads the settings, logs them with secrets masked, starts the service and runs it
 * until a signal stops it. An invalid setting ends the process with an error that names the variable.
 *
 * @param name of the service in its log
 */
export async function runServiceProcess(
  name: string,
  start: (settings: Settings, logger: Logger) => Promise<Service>,
): Promise<void> {
  const settings = loadSettings();
  const logger = createLogger({ name, level: settings.logLevel });
  logger.info({ settings: describeSettings(settings) }, 'starting');
  await runService(() => start(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
}
