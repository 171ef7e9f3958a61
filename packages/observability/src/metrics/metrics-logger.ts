/** The part of a pino logger that is used. */
export interface MetricsLogger {
  debug(context: object, message: string): void;
  warn(context: object, message: string): void;
}
