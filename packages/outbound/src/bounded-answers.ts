import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { boundPieces } from '@waymark/contract';

/** A receiver has answered in a way in which it could keep a request, its connection or this process busy without end. */
export class AnswerRefusedError extends Error {
  override readonly name = 'AnswerRefusedError';
}

/** Answers with a status 1xx that may precede the answer to a request. Servers send one or two, or one every few seconds of their work. */
const INFORMATIONAL_MAX = 100;

function boundAnswers(request: ClientRequest): void {
  // Without a listener Node would close the connection, and the request would never have an answer or an error, not even on a time limit.
  request.once('upgrade', (_answer: IncomingMessage, socket: Duplex) => {
    socket.destroy();
    // `destroy` has no effect on a request that has been upgraded.
    request.emit('error', new AnswerRefusedError('the answer changes the protocol'));
  });
  let informational = 0;
  request.on('information', () => {
    informational += 1;
    if (informational > INFORMATIONAL_MAX)
      request.destroy(new AnswerRefusedError(`there are more than ${INFORMATIONAL_MAX} answers before the answer`));
  });
  // Before the reader of the answer adds its listeners.
  request.prependOnceListener('response', (answer: IncomingMessage) => {
    boundPieces(answer, () => answer.destroy(new AnswerRefusedError('the answer comes in too many small pieces')));
  });
}

/** The method that Node calls for each request of an agent. The types of Node lack it, although every agent must have it. */
interface RequestPool {
  addRequest(request: ClientRequest, options: object): void;
}

/**
 * Makes all requests of an agent end with AnswerRefusedError when the receiver changes the protocol (101), sends informational answers
 * without end, or an answer in too many small pieces. A request must have a listener for its answer.
 */
export function refuseEndlessAnswers(agent: Agent): void {
  const pool = agent as Agent & RequestPool;
  const addRequest = pool.addRequest.bind(pool);
  pool.addRequest = (request, options) => {
    boundAnswers(request);
    addRequest(request, options);
  };
}

function destroyOnData(this: Duplex): void {
  this.destroy();
}

/**
 * Makes an agent close an idle connection on which bytes arrive. They belong to no request, would be taken for the beginning of the next
 * answer, and would keep the connection open for ever, because each of them begins the idle time again.
 */
export function closeTalkingIdle(agent: Agent): void {
  // `keepSocketAlive` returns whether the connection is kept; the types of Node lack this result.
  const keep = agent.keepSocketAlive.bind(agent) as (socket: Duplex) => boolean;
  const reuse = agent.reuseSocket.bind(agent);
  agent.keepSocketAlive = (socket) => {
    socket.on('data', destroyOnData);
    return keep(socket);
  };
  agent.reuseSocket = (socket, request) => {
    socket.off('data', destroyOnData);
    reuse(socket, request);
  };
}
