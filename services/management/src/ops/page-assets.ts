import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pageFiles } from '@waymark/ops-page';

/** A static file of the operations page. */
export interface Asset {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

function readAsset(name: string, file: URL): Asset {
  const body = readFileSync(file);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { body, type: TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream', etag };
}

/** Returns the files of the page by name; each is read from disk on its first request and cached. */
export function createPageAssets(): (name: string) => Asset | undefined {
  const assets = new Map<string, Asset>();
  return (name) => {
    const file = pageFiles.get(name);
    if (file === undefined) return undefined;
    const asset = assets.get(name) ?? readAsset(name, file);
    assets.set(name, asset);
    return asset;
  };
}
