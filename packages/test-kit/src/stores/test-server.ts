/** A Redis or ClickHouse server for one test file, which may kill it. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** Process id of the current server; 0 for an external server. */
  readonly pid: number;
  readonly dataDir: string;
  /** Sends SIGKILL and waits until the process has exited. */
  kill9(): Promise<void>;
  /** Starts the server again after a kill, or stops and starts it, with the same port and data. */
  restart(): Promise<void>;
  /** Ends the server. Its data are removed, unless the test has chosen `dataDir`. */
  stop(): Promise<void>;
}

/** A Redis server for one test file. */
export type TestRedis = TestServer;
