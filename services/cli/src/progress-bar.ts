import { clearLine, cursorTo } from 'node:readline';

const WIDTH = 32;
const EVERY_MS = 200;

/**
 * Shows a progress bar on standard error, because standard output is for the result. Prints nothing unless standard error is a terminal.
 */
export function startProgressBar(read: () => { readonly share: number; readonly text: string }) {
  const out = process.stderr;
  if (!out.isTTY) return { stop() {} };

  const draw = () => {
    const { share, text } = read();
    const filled = Math.min(WIDTH, Math.round(share * WIDTH));
    cursorTo(out, 0);
    clearLine(out, 0);
    out.write(`${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${text}`);
  };
  const timer = setInterval(draw, EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      draw();
      out.write('\n');
    },
  };
}
