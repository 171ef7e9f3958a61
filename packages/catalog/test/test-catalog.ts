import { randomUUID } from 'node:crypto';
import { waitFor } from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import type { Catalog, CreatedWorkspace } from '../src/index.js';

/** Resolves with the catalog once it is connected to Redis; until then it reads ClickHouse. */
export async function connected(catalog: Catalog, client: Redis): Promise<Catalog> {
  const keys: string[] = [];
  await waitFor(
    async () => {
      const name = randomUUID();
      keys.push(`waymark:cache:name:link/probe.example/${name}`);
      await catalog.links.findByAddress('probe.example', name);
      return (await client.exists(keys)) > 0;
    },
    { what: 'the catalog to use Redis' },
  );
  return catalog;
}

/** Creates a workspace with a domain of its own. */
export function aWorkspace(catalog: Catalog): Promise<CreatedWorkspace & { readonly host: string }> {
  const mark = randomUUID().slice(0, 8);
  const host = `go.${mark}.example`;
  return catalog.workspaces
    .create({ name: 'Acme', slug: `acme-${mark}`, plan: 'enterprise', domain: host })
    .then((created) => ({ ...created, host }));
}

export function outcomes(settled: readonly PromiseSettledResult<unknown>[]): { created: number; codes: string[] } {
  const codes = settled.flatMap((outcome) =>
    outcome.status === 'rejected' ? [String((outcome.reason as { code?: string }).code ?? outcome.reason)] : [],
  );
  return { created: settled.length - codes.length, codes: [...new Set(codes)] };
}

/** Deletes every cache entry. The queue, locks and rate limits have other prefixes. */
export async function wipeCaches(client: Redis): Promise<number> {
  const keys = await client.keys('waymark:cache:*');
  return keys.length === 0 ? 0 : client.del(keys);
}
