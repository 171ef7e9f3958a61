import { connect } from 'node:net';

const ANSWER_WITHIN_MS = 20_000;

/**
 * Sends bytes and returns everything received until the connection closes or the response is complete, because the connection may stay
 * open after the response.
 *
 * @param isWhole whether the text received so far is complete
 */
export function exchange(port: number, bytes: Buffer, isWhole: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1');
    const timer = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(
          `no answer within ${ANSWER_WITHIN_MS} ms to ${JSON.stringify(bytes.toString('latin1').slice(0, 2000))}`,
        ),
      );
    }, ANSWER_WITHIN_MS);
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text);
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (isWhole(text)) finish();
    });
    // A server that refuses a request early resets the connection.
    socket.on('error', finish);
    socket.on('close', finish);
    socket.write(bytes);
  });
}

/** Whether a text begins with a complete response other than `100 Continue`. */
export function isWholeAnswer(text: string, method: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  if (text.startsWith('HTTP/1.1 100')) return isWholeAnswer(text.slice(end + 4), method);
  if (method === 'HEAD' || /^HTTP\/1\.1 (?:204|304)/.test(text)) return true;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2));
  return length !== null && text.length >= end + 4 + Number(length[1]);
}
