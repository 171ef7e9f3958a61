import { formatTailPosition, type TailPosition } from '@waymark/event-queue';
import type { ByeReason } from './stream-end.js';
import type { Gap } from './workspace-tail.js';

/** A server-sent event (docs/reference/stream.md), and the position in the tail after it. */
export interface Frame {
  readonly position: TailPosition;
  readonly text: string;
}

function frame(position: TailPosition, name: string, data: string): string {
  return `id: ${formatTailPosition(position)}\nevent: ${name}\ndata: ${data}\n\n`;
}

/** The frame of an event. @param data JSON, which contains no line break */
export function eventFrame(position: TailPosition, name: 'click' | 'lead' | 'sale', data: string): Frame {
  return { position, text: frame(position, name, data) };
}

/** The frame for events that cannot be sent, because they are not in the tail any more. */
export function gapFrame({ from, to, events }: Gap): string {
  const data = { from: formatTailPosition(from), to: formatTailPosition(to), events: events ?? null };
  return frame(to, 'gap', JSON.stringify(data));
}

/** The last frame of a stream. Clients connect again after `retryMs`. */
export function byeFrame(position: TailPosition, reason: ByeReason, retryMs: number): string {
  return `retry: ${retryMs}\n${frame(position, 'bye', JSON.stringify({ reason }))}`;
}

/** The first text of a stream. Clients whose connection breaks connect again after `retryMs`, and resume at the position. */
export function openFrame(position: TailPosition, retryMs: number): string {
  return `: open\nretry: ${retryMs}\nid: ${formatTailPosition(position)}\n\n`;
}

/** A comment with the position up to which everything was sent, so that clients resume there even if no event has matched for long. */
export function heartbeatFrame(position: TailPosition): string {
  return `: heartbeat\nid: ${formatTailPosition(position)}\n\n`;
}
