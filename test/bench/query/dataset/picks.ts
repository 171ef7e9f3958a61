import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import type { KnownWorkspace } from './generate.js';

/** Values of a workspace for filters, found in its data: the same in every run on the same data. */
export interface Picks {
  readonly topLink: string;
  readonly middleLink: string;
  readonly quietLink: string;
  /** Links, most clicked first. */
  readonly busiestLinks: readonly string[];
  readonly quietLinks: readonly string[];
  readonly rareCity: string;
  readonly rareUrl: string;
  readonly rareReferer: string;
  readonly rareCampaign: string;
  readonly rareTerms: readonly string[];
  readonly tenant: string;
  readonly busyTenant: string;
  readonly customer: string;
  readonly order: string;
}

/** SQL of the value of a column whose number of rows is closest to `wanted`. */
function nearest(column: string, workspace: bigint, wanted: number): string {
  return `SELECT toString(${column}) FROM click_events WHERE workspace_id = ${workspace} AND ${column} != ''
GROUP BY ${column} ORDER BY abs(toInt64(count()) - ${wanted}), ${column} LIMIT 1`;
}

export async function pickValues(client: ClickHouseClient, { id, links }: KnownWorkspace): Promise<Picks> {
  const rows = async (query: string) => {
    const result = await client.query({ query, format: 'JSONCompactEachRow' });
    return (await result.json<[string]>()).map(([value]) => value);
  };
  const one = async (query: string) => {
    const [value] = await rows(query);
    if (value === undefined) throw new Error(`nothing to pick: ${query}`);
    return value;
  };
  const byClicks = await rows(
    `SELECT link_id FROM link_totals WHERE workspace_id = ${id} GROUP BY link_id ORDER BY sum(clicks) DESC, link_id`,
  );
  const publicLinks = byClicks.map((number) => formatResourceId('link', number));
  const linkAt = (share: number) => publicLinks[Math.floor((publicLinks.length - 1) * share)] ?? '';
  const tenants = (order: string) =>
    one(`SELECT tenant_id FROM links FINAL WHERE workspace_id = ${id} AND tenant_id != '' AND id IN (
  SELECT link_id FROM link_totals WHERE workspace_id = ${id} GROUP BY link_id ORDER BY sum(clicks) ${order}, link_id LIMIT 100)
ORDER BY cityHash64(tenant_id) LIMIT 1`);
  const clicks = Number(await one(`SELECT count() FROM click_events WHERE workspace_id = ${id}`));
  return {
    topLink: linkAt(0),
    middleLink: linkAt(Math.min(0.01, 100 / links)),
    quietLink: linkAt(0.7),
    busiestLinks: publicLinks.slice(0, 100),
    quietLinks: publicLinks.slice(-Math.floor(publicLinks.length / 2)).slice(0, 100),
    rareCity: await one(nearest('city', id, clicks / 20_000)),
    rareUrl: await one(nearest('url_base', id, 0)),
    rareReferer: await one(nearest('referer', id, clicks / 10_000)),
    rareCampaign: await one(nearest('utm_campaign', id, 0)),
    rareTerms: [await one(nearest('utm_term', id, clicks / 10_000)), await one(nearest('utm_term', id, 0))],
    tenant: await tenants('ASC'),
    busyTenant: await tenants('DESC'),
    customer: formatResourceId(
      'customer',
      await one(`SELECT customer_id FROM lead_events WHERE workspace_id = ${id}
GROUP BY customer_id ORDER BY abs(toInt64(count()) - 3), customer_id LIMIT 1`),
    ),
    order: (
      await one(
        `SELECT metadata_kv[3] FROM lead_events WHERE workspace_id = ${id} ORDER BY cityHash64(event_id) LIMIT 1`,
      )
    ).slice('order='.length),
  };
}
