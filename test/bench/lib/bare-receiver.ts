import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setPriority } from 'node:os';

/** A receiver of webhooks that does nothing but count; its own process, so that it is in no figure. Answers the count. */
// It stands for another machine.
setPriority(19);
let count = 0;
const server = createServer((request, response) => {
  if (request.method === 'POST') count += 1;
  request.resume();
  request.on('end', () => response.end(String(count)));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
