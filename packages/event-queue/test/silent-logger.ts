import type { QueueLogger } from '../src/index.js';

/** Discards all log lines: tests check effects, not logs. */
export const silentLogger: QueueLogger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};
