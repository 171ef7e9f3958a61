import { join } from 'node:path';
import { Writable } from 'node:stream';
import { loadSettings } from '@waymark/config';
import { createLogger } from '@waymark/http-kit';
import { type HttpService, startHttp } from '../../services/standalone/src/start-http.js';

/** The HTTP services as in a process of their own. */
export interface ServiceProcess extends HttpService {
  /** Everything it has logged. */
  logs(): string;
}

/**
 * Starts what the process `http` starts, in this process, on free ports.
 *
 * @param name its service in the heartbeats; different for each, because all have the same process id
 * @param env its settings; it has a directory of its own in DATA_DIR
 */
export async function startServiceProcess(
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  let logs = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logs += chunk;
      done();
    },
  });
  const logger = createLogger({ name, level: 'debug', destination });
  const dataDir = join(env.DATA_DIR ?? '', name);
  const settings = loadSettings({ ...env, DATA_DIR: dataDir, API_PORT: '0', LINK_PORT: '0' });
  return { ...(await startHttp(settings, logger, name)), logs: () => logs };
}
