/** A server of a store for one test file, which the test may kill. */
export interface TestServer {
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

/** A Redis server for one test file. */
export type TestRedis = TestServer;
