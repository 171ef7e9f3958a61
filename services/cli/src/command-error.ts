/** A failure with a message for the user; it is printed without a stack trace. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CommandError';
  }
}

/** The end of a command by its user, or by the program that reads its output. */
export class InterruptedError extends CommandError {}
