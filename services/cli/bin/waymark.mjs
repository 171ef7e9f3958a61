#!/usr/bin/env node
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  console.error(
    'waymark: not built yet. Run `npm run up`, or `npm ci && npm run build`, from the root of the project first.',
  );
  process.exitCode = 1;
}
