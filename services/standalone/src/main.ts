import { randomBytes } from 'node:crypto';
import {
  adminKeyFiles,
  describeSettings,
  environmentWith,
  loadSettings,
  partialRestore,
  type Settings,
} from '@waymark/config';
import { createLogger, fileDestination, type Logger, runService } from '@waymark/http-kit';
import { createDataDir } from './data-dir/create-data-dir.js';
import { limitLogs, openLog } from './data-dir/log-files.js';
import { LOCAL_DOMAIN, showNextSteps } from './next-steps.js';
import { prepareInProcess } from './prepare-process.js';
import { stackStopMs, startStack } from './stack.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function fail(err: unknown): never {
  console.error(`waymark: ${err instanceof Error ? err.message : String(err)}`);
  process.exit(1);
}

function readSettings(): Settings {
  try {
    // Unless WRITER_PORT is set, the writer listens on any free port: two stacks on a machine must not both use the default.
    return loadSettings(environmentWith({}, { WRITER_PORT: '0' }));
  } catch (err) {
    return fail(err);
  }
}

/** The terminal gets a few plain lines; the details are in the log file. */
function fileLogger({ dataDir, logLevel }: Settings): Logger {
  const { fd } = openLog(dataDir, 'supervisor');
  return createLogger({ name: 'supervisor', level: logLevel, destination: fileDestination(fd) });
}

async function start(settings: Settings, logger: Logger, signal: AbortSignal) {
  const domain = settings.defaultDomain ?? LOCAL_DOMAIN;
  const report = (line: string) => {
    console.log(`· ${line}`);
    logger.info(line);
  };
  limitLogs(settings.dataDir, (err) => logger.warn({ err }, 'the logs could not be shortened'));
  let apiKey: string | undefined;
  const stack = await startStack({
    settings,
    domain,
    report,
    signal,
    async prepare(stores) {
      apiKey = await prepareInProcess({ stores, settings, domain }, report);
    },
  });
  const { api, links } = stack;
  const suffix = apiKey === undefined ? `-${randomBytes(3).toString('hex')}` : '';
  console.log(`\nWaymark is up: API ${api}, short links ${links}, data and logs in ${settings.dataDir}\n`);
  const steps = { api, links, domain, dataDir: settings.dataDir, apiKey, suffix };
  showNextSteps(steps, { isTerminal: process.stdout.isTTY, print: console.log });
  const adminKey = settings.adminKey === undefined ? adminKeyFiles.fileIn(settings.dataDir) : 'ADMIN_KEY';
  console.log(`Metrics and operations pages: ${api}/metrics and ${api}/ops, with the admin key in ${adminKey}`);
  console.log('Ctrl-C stops it.');
  return {
    async close() {
      console.log('· stopping');
      await stack.close();
    },
  };
}

// Ignore errors of a closed pipe: `npm run up | head` must not stop the stack.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const settings = readSettings();
const startAbort = new AbortController();
for (const signal of SIGNALS) process.once(signal, () => startAbort.abort());

await runService(
  async () => {
    try {
      createDataDir(settings.dataDir);
      const partial = partialRestore(settings.dataDir);
      if (partial !== undefined) throw new Error(partial);
      const logger = fileLogger(settings);
      logger.info({ settings: describeSettings(settings) }, 'starting');
      return await start(settings, logger, startAbort.signal);
    } catch (err) {
      return startAbort.signal.aborted ? process.exit(130) : fail(err);
    }
  },
  { logger: createLogger({ name: 'supervisor', level: 'error' }), deadlineMs: stackStopMs(settings) },
);
