/** A Redis server for one test file. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Process id of the current server; 0 for a given server. */
  readonly pid: number;
  readonly dataDir: string;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill9(): Promise<void>;
  /** Starts it again after a kill, or stops and starts it, on the same port and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}
