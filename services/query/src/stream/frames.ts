import { formatTailPosition, type TailPosition } from '@waymark/event-queue';
import type { ByeReason } from './stream-end.js';
import type { Gap } from './workspace-tail.js';

/** An event as it is sent, and the position after it. */
export interface Frame {
  readonly position: TailPosition;
  readonly text: string;
}

function frame(position: TailPosition, name: string, data: string): string {
  return `id: ${formatTailPosition(position)}\nevent: ${name}\ndata: ${data}\n\n`;
}

/** @param data JSON, which contains no line break */
export function eventFrame(position: TailPosition, name: 'click' | 'lead' | 'sale', data: string): Frame {
  return { position, text: frame(position, name, data) };
}

/** Says which events a client that resumes does not get. */
export function gapFrame({ from, to, events }: Gap): string {
  const data = { from: formatTailPosition(from), to: formatTailPosition(to), events: events ?? null };
  return frame(to, 'gap', JSON.stringify(data));
}

/** The last frame of a stream. A client connects again after `retryMs`. */
export function byeFrame(position: TailPosition, reason: ByeReason, retryMs: number): string {
  return `retry: ${retryMs}\n${frame(position, 'bye', JSON.stringify({ reason }))}`;
}

/** The first block of a stream. A client connects again after `retryMs` when the connection breaks without a `bye`. */
export function openFrame(position: TailPosition, retryMs: number): string {
  return `: open\nretry: ${retryMs}\nid: ${formatTailPosition(position)}\n\n`;
}

/** A comment with the position up to which everything was sent: clients resume there, however long no event matched their filters. */
export function heartbeatFrame(position: TailPosition): string {
  return `: heartbeat\nid: ${formatTailPosition(position)}\n\n`;
}
