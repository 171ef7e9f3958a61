import { describeSettings, loadSettings } from '@waymark/config';
import { createLogger, runService } from '@waymark/http-kit';
import { startWriter } from './writer-service.js';

const settings = loadSettings();
const logger = createLogger({ name: 'writer', level: settings.logLevel });
logger.info({ settings: describeSettings(settings) }, 'starting');
await runService(() => startWriter(settings, logger), { logger, deadlineMs: settings.shutdownDeadlineMs });
