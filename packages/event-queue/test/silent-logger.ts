import type { QueueLogger } from '../src/index.js';

/** Says nothing. Tests look at what happened, not at what was said about it. */
export const silentLogger: QueueLogger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};
