/** Redis discarded a transaction because a watched key had changed: none of its commands was carried out. */
export class DiscardedTransactionError extends Error {
  override readonly name = 'DiscardedTransactionError';

  constructor() {
    super('the transaction was discarded: a watched key has changed');
  }
}

/** A command of a transaction failed; the others may have been carried out. The cause is the error that Redis replied. */
export class PartialTransactionError extends Error {
  override readonly name = 'PartialTransactionError';

  constructor(cause: Error) {
    super(`a command of the transaction failed: ${cause.message}`, { cause });
  }
}

/** A transaction of ioredis, ready to run. */
interface Executable {
  exec(): Promise<readonly [err: Error | null, result?: unknown][] | null>;
}

/**
 * Runs a transaction. Redis continues after a failed command, and ioredis reports neither that nor a discarded transaction as
 * an error; this function throws in both cases.
 *
 * @returns the reply to each command, in order
 * @throws DiscardedTransactionError when nothing was done
 * @throws PartialTransactionError when a command failed
 * @throws ReplyError when Redis refused the whole transaction; nothing was done
 */
export async function execute(transaction: Executable): Promise<readonly unknown[]> {
  const results = await transaction.exec();
  if (results === null) throw new DiscardedTransactionError();
  return results.map(([err, result]) => {
    if (err !== null) throw new PartialTransactionError(err);
    return result;
  });
}
