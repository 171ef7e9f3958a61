import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createClickHouseClient } from '@waymark/clickhouse';
import { environmentWith, type RunState, readRunState } from '@waymark/config';
import { endingOf, freePort, makeMigratedStore, temporaryDirectory, waitFor } from '@waymark/test-kit';

const ROOT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** A child of the stack that a test may kill. */
export type StackProcess = 'http' | 'writer' | 'redis' | 'clickhouse';

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A whole stack as `npm run up` starts it, on its own data directory and ports. */
export class RunningStack {
  readonly dataDir = temporaryDirectory('waymark-stack-');
  readonly #environment: NodeJS.ProcessEnv;
  #supervisor: ChildProcess | undefined;
  #output = '';

  private constructor(environment: Record<string, string>, apiPort: number, linkPort: number, writerPort: number) {
    // Only these variables: settings in the environment of the test run must not affect the stack.
    const { PATH, HOME } = environmentWith({});
    this.#environment = {
      PATH,
      HOME,
      DATA_DIR: this.dataDir,
      API_PORT: String(apiPort),
      LINK_PORT: String(linkPort),
      WRITER_PORT: String(writerPort),
      LOG_LEVEL: 'warn',
      ...environment,
    };
  }

  static async start(environment: Record<string, string> = {}): Promise<RunningStack> {
    const stack = new RunningStack(environment, await freePort(), await freePort(), await freePort());
    await makeMigratedStore(join(stack.dataDir, 'clickhouse'));
    await stack.up();
    return stack;
  }

  /** Starts the supervisor and waits until every child is ready. */
  async up(): Promise<void> {
    const supervisor = spawn(process.execPath, [join(ROOT, 'services/standalone/dist/main.js')], {
      cwd: ROOT,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#supervisor = supervisor;
    const keep = (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-20_000);
    };
    supervisor.stdout.on('data', keep);
    supervisor.stderr.on('data', keep);
    await waitFor(() => readRunState(this.dataDir)?.pids.supervisor === supervisor.pid, {
      timeoutMs: 80_000,
      what: 'the stack to be ready',
      failure: () => endingOf(supervisor) && 'the stack ended at its start',
      details: () => this.#output,
    });
  }

  get state(): RunState {
    const state = readRunState(this.dataDir);
    if (state === undefined) throw new Error(`the stack is not up:\n${this.#output}`);
    return state;
  }

  /** The end of the stack's output, for error messages. */
  get output(): string {
    return this.#output;
  }

  /** `npx waymark …` against this stack, its JSON answer parsed. */
  waymark(...argv: string[]): Promise<Record<string, unknown>> {
    return this.waymarkWith({}, ...argv);
  }

  /** The same with other settings. */
  async waymarkWith(settings: Record<string, string>, ...argv: string[]): Promise<Record<string, unknown>> {
    const { stdout } = await run(process.execPath, [join(ROOT, 'services/cli/bin/waymark.mjs'), ...argv, '--json'], {
      cwd: ROOT,
      env: { ...this.#environment, ...settings },
    });
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  /** Starts `npx waymark …` against this stack. */
  spawnWaymark(...argv: string[]): ChildProcess {
    return spawn(process.execPath, [join(ROOT, 'services/cli/bin/waymark.mjs'), ...argv], {
      cwd: ROOT,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** `kill -9` of one child; resolves when the supervisor reports its replacement. */
  async kill(name: StackProcess): Promise<void> {
    const pid = this.state.pids[name];
    if (pid === null) throw new Error(`${name} is not a child of this stack`);
    process.kill(pid, 'SIGKILL');
    await waitFor(() => readRunState(this.dataDir)?.pids[name] !== pid, {
      what: `a new ${name} after kill -9`,
    });
  }

  async untilClickHouseResponds(): Promise<void> {
    const client = createClickHouseClient({ url: this.state.clickhouse, database: 'default' });
    await waitFor(async () => (await client.ping()).success, { what: 'ClickHouse to respond' });
    await client.close();
  }

  /** `kill -9` of all processes, and loss of the data directory. */
  async lose(): Promise<void> {
    const supervisor = this.#supervisor;
    if (supervisor === undefined) return;
    const pids = Object.values(this.state.pids).filter((pid) => pid !== null);
    const ended = new Promise((done) => supervisor.once('exit', done));
    // The supervisor first, because it would restart the others.
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await ended;
    await waitFor(() => !pids.some(isRunning), { what: 'the end of every process' });
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    const supervisor = this.#supervisor;
    if (supervisor !== undefined && supervisor.exitCode === null) {
      const ended = new Promise((done) => supervisor.once('exit', done));
      supervisor.kill('SIGTERM');
      await ended;
    }
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
