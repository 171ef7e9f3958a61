/** The part of Node's streams through which the parser of HTTP adds to the body of a message. */
interface MessageBody {
  push(piece: Buffer | null): boolean;
}

/** Pieces that pass as they are. Nearly all bodies have fewer. */
const PASSED = 16;
/** Pieces of at least this size are not joined. */
const LARGE_BYTES = 1024;
/** Pieces that every body may have. */
const PIECES_FREE = 1000;
/** Bytes for each further piece: 8 while the body arrives, where a piece costs time; 64 while it is read, where it also costs memory. */
const BYTES_PER_PIECE = 8;
const BYTES_PER_JOINED_PIECE = 64;

/**
 * Bounds the memory and the time that the body of an HTTP message takes besides its bytes: whatever its length, a peer may send it a byte at
 * a time, in chunks or packets, and each piece takes some hundred bytes and a few microseconds. Small pieces that arrive together are joined,
 * and with later ones where the body would otherwise be read in more than 1,000 pieces plus one for each 64 bytes. A body that arrives in
 * more than 1,000 pieces plus one for each 8 bytes is refused: the rest is discarded, and the body does not end. Call it before the body is
 * read.
 *
 * @param refuse called once, when the body is refused; it closes the connection
 */
export function boundPieces(body: MessageBody, refuse: () => void): void {
  const push = body.push.bind(body);
  let pieces = 0;
  let passed = 0;
  let bytes = 0;
  let isRefused = false;
  let waiting: Buffer[] = [];
  let isScheduled = false;
  // The last return value of `push`: whether the stream has room.
  let hasRoom = true;

  const mayPass = () => passed < PIECES_FREE + bytes / BYTES_PER_JOINED_PIECE;
  function pass(piece: Buffer): boolean {
    passed += 1;
    hasRoom = push(piece);
    return hasRoom;
  }
  function passWaiting(): void {
    const joined = waiting;
    waiting = [];
    if (joined.length > 0) pass(Buffer.concat(joined));
  }
  function endOfPacket(): void {
    isScheduled = false;
    if (mayPass()) passWaiting();
  }

  body.push = (piece) => {
    if (isRefused) return true;
    if (piece === null) {
      passWaiting();
      return push(null);
    }
    pieces += 1;
    bytes += piece.length;
    if (pieces > PIECES_FREE + bytes / BYTES_PER_PIECE) {
      isRefused = true;
      passWaiting();
      refuse();
      return true;
    }
    if (pieces <= PASSED) return pass(piece);
    if (piece.length >= LARGE_BYTES) {
      passWaiting();
      return pass(piece);
    }
    waiting.push(piece);
    if (!isScheduled) {
      isScheduled = true;
      // The parser adds all pieces of a packet before it returns.
      process.nextTick(endOfPacket);
    }
    // While nothing is passed, the stream does not ask for more.
    return hasRoom || !mayPass();
  };
}
