import { Writable } from 'node:stream';
import { type App, type CreateAppOptions, createApp, createLogger } from '../src/index.js';

export const DOC_BASE = 'https://docs.example.com';

/** An app with defaults, whose log lines are captured in `lines` instead of printed. */
export function aTestApp(
  options: Partial<CreateAppOptions> = {},
  addRoutes: (app: App) => void | Promise<void> = () => {},
): { app: App; lines: () => string } {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const app = createApp({
    logger: createLogger({ name: 'test', level: 'debug', destination }),
    docBase: DOC_BASE,
    trustedProxies: ['127.0.0.0/8', '::1/128'],
    ...options,
  });
  app.register(async (routes) => addRoutes(routes as App));
  return { app, lines: () => text };
}

/** A promise that the test resolves. */
export function aGate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
