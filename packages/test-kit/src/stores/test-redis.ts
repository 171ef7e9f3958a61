/** A Redis of one test file. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now. */
  readonly pid: number;
  readonly dataDir: string;
  /** Kills it the hard way; resolves when it is gone. */
  kill9(): Promise<void>;
  /** Starts it again after a kill, or stops and starts it, on the same port and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}
