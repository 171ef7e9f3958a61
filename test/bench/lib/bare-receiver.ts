import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setPriority } from 'node:os';

/** A receiver of webhooks that only counts them and answers the count. A process of its own, so that its CPU is not measured. */
// A low priority, because it stands for another machine.
setPriority(19);
let count = 0;
const server = createServer((request, response) => {
  if (request.method === 'POST') count += 1;
  request.resume();
  request.on('end', () => response.end(String(count)));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
