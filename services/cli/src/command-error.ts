/** The command cannot be carried out as given; the message is for the person who typed it. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CommandError';
  }
}
