import { createServer, type Server, type Socket } from 'node:net';
import { type NativeBlock, readBlock, readBlocks } from './native-block.js';
import { text, varuint, WireReader } from './wire.js';

/** A statement from another server. */
export interface NativeStatement {
  readonly sql: string;
  readonly data: Buffer;
  readonly database: string;
  readonly settings: ReadonlyMap<string, string>;
  readonly format: 'Native' | 'TSVRaw';
}

/** Runs a statement for its result. */
export type RunNative = (statement: NativeStatement) => Promise<Buffer>;

/** The newest revision whose packets carry no secrets, traces or statuses that would have to be parsed. */
const REVISION = 54_440;
const CLIENT = { hello: 0, query: 1, data: 2, cancel: 3, ping: 4, tableStatus: 5, scalars: 7 } as const;
const SERVER = { hello: 0, data: 1, exception: 2, pong: 4, end: 5, tableStatus: 9 } as const;
/** The stage of a query whose result needs nothing more. */
const COMPLETE = 2;
const BLOCK_INFO = Buffer.from([1, 0, 2, 255, 255, 255, 255, 0]);

function dataPacket(bytes: Buffer): Buffer {
  return Buffer.concat([varuint(SERVER.data), text(''), BLOCK_INFO, bytes]);
}

function exceptionPacket(err: unknown): Buffer {
  const message = err instanceof Error ? err.message : String(err);
  const code = Buffer.alloc(4);
  code.writeInt32LE(Number(/^Code: (\d+)/.exec(message)?.[1] ?? (err as { code?: unknown }).code ?? 1000) || 1000);
  return Buffer.concat([varuint(SERVER.exception), code, text('DB::Exception'), text(message), text(''), Buffer.of(0)]);
}

/** The names of a result's columns that the server that sent the query expects (`__table1.column`), by their aliases in its SQL. */
function innerNames(sql: string): ReadonlyMap<string, string> {
  const columns = sql.matchAll(/`?(__table\d+)`?\.`?(\w+)`? AS `?(\w+)`?/g);
  return new Map([...columns].map(([, table = '', column = '', alias = '']) => [alias, `${table}.${column}`]));
}

class Session {
  readonly #reader = new WireReader();
  readonly #socket: Socket;
  readonly #run: RunNative;
  #database = 'default';

  constructor(socket: Socket, run: RunNative) {
    this.#socket = socket;
    this.#run = run;
    socket.on('data', (bytes) => this.#reader.push(bytes));
    socket.on('error', () => undefined);
  }

  async serve(): Promise<void> {
    for (;;) {
      const packet = await this.#reader.varuint();
      if (packet === CLIENT.hello) await this.#greet();
      else if (packet === CLIENT.ping) this.#socket.write(varuint(SERVER.pong));
      else if (packet === CLIENT.tableStatus) await this.#statuses();
      else if (packet === CLIENT.query) await this.#answer();
      else if (packet !== CLIENT.cancel) throw new Error(`packet ${packet} of the native protocol is not supported`);
    }
  }

  async #greet(): Promise<void> {
    const reader = this.#reader;
    await reader.text();
    for (let number = 0; number < 3; number++) await reader.varuint();
    this.#database = (await reader.text()) || 'default';
    await reader.text();
    await reader.text();
    const version = [varuint(1), varuint(1), varuint(REVISION), text('UTC'), text('test'), varuint(1)];
    this.#socket.write(Buffer.concat([varuint(SERVER.hello), text('ClickHouse'), ...version]));
  }

  /** Reports that no table has a replication delay, so that queries go to every replica, also to those that lack rows. */
  async #statuses(): Promise<void> {
    const reader = this.#reader;
    const count = await reader.varuint();
    const answer = [varuint(SERVER.tableStatus), varuint(count)];
    for (let table = 0; table < count; table++) {
      answer.push(text(await reader.text()), text(await reader.text()), Buffer.of(0));
    }
    this.#socket.write(Buffer.concat(answer));
  }

  async #skipClientInfo(): Promise<void> {
    const reader = this.#reader;
    if ((await reader.byte()) === 0) return;
    for (let name = 0; name < 3; name++) await reader.text();
    const [TCP, HTTP] = [1, 2];
    const transport = await reader.byte();
    if (transport === TCP) {
      for (let name = 0; name < 3; name++) await reader.text();
      for (let number = 0; number < 3; number++) await reader.varuint();
    } else if (transport === HTTP) {
      await reader.byte();
      await reader.text();
    }
    await reader.text();
    if (transport === TCP) await reader.varuint();
  }

  async #settings(): Promise<Map<string, string>> {
    const settings = new Map<string, string>();
    for (let name = await this.#reader.text(); name !== ''; name = await this.#reader.text()) {
      await this.#reader.varuint();
      settings.set(name, await this.#reader.text());
    }
    return settings;
  }

  async #data(): Promise<NativeBlock> {
    const packet = await this.#reader.varuint();
    if (packet !== CLIENT.data && packet !== CLIENT.scalars) throw new Error(`packet ${packet} instead of data`);
    await this.#reader.text();
    await this.#reader.bytes(BLOCK_INFO.length);
    return readBlock(this.#reader);
  }

  async #answer(): Promise<void> {
    const reader = this.#reader;
    await reader.text();
    await this.#skipClientInfo();
    const settings = await this.#settings();
    const isComplete = (await reader.varuint()) === COMPLETE;
    if ((await reader.varuint()) !== 0) throw new Error('the test cluster needs <compression>false</compression>');
    const sql = await reader.text();
    while ((await this.#data()).columns > 0);
    try {
      await this.#execute(sql, settings, isComplete);
      this.#socket.write(varuint(SERVER.end));
    } catch (err) {
      this.#socket.write(exceptionPacket(err));
    }
  }

  async #execute(sql: string, settings: ReadonlyMap<string, string>, isComplete: boolean): Promise<void> {
    const statement = { sql, data: Buffer.alloc(0), database: this.#database, settings, format: 'Native' } as const;
    const insert = /^INSERT INTO (?:TABLE )?([^\s(]+)\s*\(([^)]*)\)\s*(?:FORMAT|VALUES|$)/i.exec(sql);
    if (insert === null) {
      const names = isComplete ? undefined : innerNames(sql);
      for (const block of await readBlocks(await this.#run(statement), names))
        this.#socket.write(dataPacket(block.bytes));
      return;
    }
    const [, table, columns] = insert;
    const described = await this.#run({
      ...statement,
      sql: `DESCRIBE (SELECT ${columns} FROM ${table})`,
      format: 'TSVRaw',
    });
    const header = described
      .toString('utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('\t').slice(0, 2).map(text));
    this.#socket.write(dataPacket(Buffer.concat([varuint(header.length), varuint(0), ...header.flat()])));
    const blocks: Buffer[] = [];
    for (let block = await this.#data(); block.columns > 0; block = await this.#data()) blocks.push(block.bytes);
    const data = Buffer.concat(blocks);
    if (data.length > 0)
      await this.#run({ ...statement, sql: `INSERT INTO ${table} (${columns}) FORMAT Native`, data });
  }
}

/**
 * A server of ClickHouse's native protocol, with the parts that the servers of a cluster use between each other. It cannot transfer states
 * of aggregate functions, so a statement over several shards may aggregate only on each shard alone (`distributed_group_by_no_merge`), or
 * only on the server that it was sent to (over a subquery).
 */
export function createNativeServer(run: RunNative): Server {
  return createServer((socket) => {
    new Session(socket, run).serve().catch((err: unknown) => {
      console.error('the test cluster:', err);
      socket.destroy();
    });
  });
}
