import type { ClickHouseClient } from '@waymark/clickhouse';
import { array, base62, isoTime, resourceId, skewed, uniform, zipfRank } from './sql.js';
import {
  type BenchWorkspace,
  DAY_MS,
  END_MS,
  FOLDERS,
  GROUPS,
  LINKS_PER_TENANT,
  PARTNER_TAGS,
  REMOVING_REST,
  resourceNumber,
  SPAN_MS,
  START_MS,
  TAGS,
  type WorldSizes,
} from './world.js';

const LINKS_PER_INSERT = 100_000;
const FIRST_LINK_MS = START_MS - 100 * DAY_MS;
/** Position, from the most clicked link of a workspace on, of the root links of its domains. */
const FIRST_ROOT = 20;

/** SQL of the number of the link at a position (from 0, the most clicked one first), in the format of the catalog's ids. */
export function linkNumber(seed: number, rank: string, place: string, links: string): string {
  const created = `toUInt64(${FIRST_LINK_MS} + ${SPAN_MS} * (${place} / ${links}))`;
  return `(${created} * 4194304 + cityHash64(${rank}, ${place}, ${seed}) % 4194304)`;
}

/** SQL of the position of the link of a click. */
export function clickedPlace(links: string, u: string): string {
  return `(${zipfRank(links, u)} - 1)`;
}

function nullable(value: string, condition: string): string {
  return `if(${condition}, concat('"', ${value}, '"'), 'null')`;
}

/** Fields of a link's record that are the same for all generated links. */
const CONSTANT_FIELDS = JSON.stringify({
  trackConversion: true,
  archived: false,
  expiresAt: null,
  expiredUrl: null,
  disabledAt: null,
  encryptedPassword: null,
  proxy: false,
  title: null,
  description: null,
  image: null,
  video: null,
  rewrite: false,
  doIndex: false,
  ios: null,
  android: null,
  geo: null,
  publicStats: false,
  comments: null,
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_term: null,
  utm_content: null,
  testVariants: null,
  testStartedAt: null,
  testCompletedAt: null,
  userId: null,
  webhookIds: [],
}).slice(1);

const RECORD = `concat('{"id":"', ${resourceId('link_', 'id')}, '","workspaceId":"', ${resourceId('ws_', 'workspace_id')},
  '","createdAt":"', ${isoTime('created')}, '","updatedAt":"', ${isoTime('created')}, '","domain":"', domain, '","key":"', key,
  '","url":"', url, '","externalId":null,"tenantId":', ${nullable('tenant_id', "tenant_id != ''")},
  ',"programId":', ${nullable(resourceId('prog_', 'program_id'), 'program_id != 0')},
  ',"partnerId":', ${nullable(resourceId('pn_', 'partner_id'), 'partner_id != 0')},
  ',"tagIds":[', arrayStringConcat(arrayMap(tag -> concat('"tag_', ${base62('tag', 11)}, '"'), tag_ids), ','),
  '],"folderId":', ${nullable(resourceId('fold_', 'folder_id'), 'folder_id != 0')}, ',', '${CONSTANT_FIELDS}')`;

/** SQL that inserts the links of some workspaces, most clicked first; a hash selects their attributes. */
function insertLinks(seed: number, workspaces: readonly BenchWorkspace[]): string {
  const u = (stream: number) => uniform(seed, stream, 'rank, place');
  const tag = (stream: number, share: number) =>
    `if(${u(stream)} < ${share}, ${resourceNumber('rank', skewed(TAGS, 3, u(stream + 1)))}, 0)`;
  const rows = workspaces.map(({ rank, id, links }) => `(${rank}, ${id}, ${links})`);
  return `INSERT INTO links (workspace_id, id, version, domain, key, url, tenant_id, folder_id, tag_ids, partner_id, program_id,
  created_at, data)
SELECT workspace_id, id, 1, domain, key, url, tenant_id, folder_id, tag_ids, partner_id, program_id,
  fromUnixTimestamp64Milli(toInt64(created)), ${RECORD}
FROM (
  SELECT workspace_id, ${linkNumber(seed, 'rank', 'place', 'links')} AS id, intDiv(id, 4194304) AS created,
    1 + least(4, toUInt64(log10(links + 1))) AS domains,
    if(place >= ${FIRST_ROOT} AND place < ${FIRST_ROOT} + domains, place - ${FIRST_ROOT},
      if(${u(1)} < 0.7, 0, toUInt64(domains * ${u(2)}))) AS domain_index,
    concat(['go', 'l', 'try', 'get', 'to'][1 + domain_index], '.shop', toString(rank), '.example') AS domain,
    if(place >= ${FIRST_ROOT} AND place < ${FIRST_ROOT} + domains, '_root', concat('k', toString(place))) AS key,
    concat('https://www.shop', toString(rank), '.example/p/', toString(place % 500)) AS url,
    if(${u(3)} < 0.5, concat('tenant-', toString(toUInt64(ceil(links / ${LINKS_PER_TENANT}) * ${u(4)}))), '') AS tenant_id,
    if(${u(5)} < 0.5, ${resourceNumber('rank', skewed(FOLDERS, 2, u(6)))}, 0) AS folder_id,
    arrayDistinct(arrayFilter(tag -> tag > 0, [${tag(7, 0.6)}, ${tag(9, 0.3)}])) AS tag_ids,
    if(${u(11)} < 0.2, ${resourceNumber('rank', `toUInt64(ceil(links / ${LINKS_PER_TENANT}) * ${u(12)})`)}, 0) AS partner_id,
    if(partner_id = 0, 0, ${resourceNumber('rank', 0)}) AS program_id
  FROM (
    SELECT workspace.1 AS rank, workspace.2 AS workspace_id, toUInt64(workspace.3) AS links, arrayJoin(range(links)) AS place
    FROM (SELECT arrayJoin([${rows.join(', ')}]::Array(Tuple(UInt32, UInt64, UInt32))) AS workspace)
  )
)`;
}

/**
 * SQL of a record as the catalog stores it, for requests that read whole records.
 *
 * @param fields fields that all generated records of its kind share
 */
function recordData(prefix: string, number: string, name: string, fields: object): string {
  const constant = JSON.stringify({ createdAt: CREATED_AT, updatedAt: CREATED_AT, ...fields }).slice(1);
  return `concat('{"id":"', ${resourceId(prefix, number)}, '","workspaceId":"', ${resourceId('ws_', 'workspace.2')},
  '","name":"', ${name}, '",', '${constant}')`;
}

const CREATED_AT = '2025-05-01T00:00:00.000Z';

const PARTNER_FIELDS = {
  username: null,
  email: null,
  image: null,
  country: null,
  companyName: null,
  description: null,
  tenantId: null,
  groupId: null,
  programId: null,
  partnerTagIds: [],
  networkStatus: 'approved',
  status: 'approved',
  bannedAt: null,
  bannedReason: null,
};

/** SQL that inserts the partners of some workspaces, each with a group and two tags. */
function insertPartners(workspaces: readonly BenchWorkspace[]): string {
  const rows = workspaces.map(({ rank, id, links }) => `(${rank}, ${id}, ${Math.ceil(links / LINKS_PER_TENANT)})`);
  return `INSERT INTO partners (workspace_id, id, version, group_id, program_id, partner_tag_ids, status, data)
SELECT workspace.2, ${resourceNumber('workspace.1', 'partner')} AS number, 1,
  ${resourceNumber('workspace.1', `partner % ${GROUPS}`)}, ${resourceNumber('workspace.1', 0)},
  [${resourceNumber('workspace.1', `partner % ${PARTNER_TAGS}`)}], 'approved',
  ${recordData('pn_', 'number', "'Partner'", PARTNER_FIELDS)}
FROM (
  SELECT workspace, arrayJoin(range(toUInt64(workspace.3))) AS partner
  FROM (SELECT arrayJoin([${rows.join(', ')}]::Array(Tuple(UInt32, UInt64, UInt32))) AS workspace)
)`;
}

/** By table: the number of records per workspace, their prefix, and the fields that all of them share. */
const NAMED = {
  tags: { count: TAGS, prefix: 'tag_', fields: { color: 'blue' } },
  folders: { count: FOLDERS, prefix: 'fold_', fields: { description: null, type: 'default', accessLevel: 'write' } },
  groups: { count: GROUPS, prefix: 'grp_', fields: { slug: 'group', color: null, programId: null } },
  partner_tags: { count: PARTNER_TAGS, prefix: 'ptag_', fields: {} },
} as const;

/** SQL that inserts tags, folders, groups and partner tags: analytics shows existing ones only. */
function insertNamed(table: keyof typeof NAMED, workspaces: readonly BenchWorkspace[]): string {
  const { count, prefix, fields } = NAMED[table];
  const rows = workspaces.map(({ rank, id }) => `(${rank}, ${id})`);
  return `INSERT INTO ${table} (workspace_id, id, version, name, data)
SELECT workspace.2, ${resourceNumber('workspace.1', 'item')} AS number, 1, concat('${table} ', toString(item)) AS title,
  ${recordData(prefix, 'number', 'title', fields)}
FROM (
  SELECT workspace, arrayJoin(range(${count})) AS item
  FROM (SELECT arrayJoin([${rows.join(', ')}]::Array(Tuple(UInt32, UInt64))) AS workspace)
)`;
}

/** Splits workspaces into batches with a limited number of links, unless a single workspace has more. */
function portions(workspaces: readonly BenchWorkspace[]): BenchWorkspace[][] {
  const result: BenchWorkspace[][] = [[]];
  let links = 0;
  for (const workspace of workspaces) {
    if (links + workspace.links > LINKS_PER_INSERT && links > 0) {
      result.push([]);
      links = 0;
    }
    result.at(-1)?.push(workspace);
    links += workspace.links;
  }
  return result;
}

/** Generates links and partners of every workspace. In a third of the workspaces one link in two hundred is removed. */
export async function generateLinks(
  client: ClickHouseClient,
  { seed }: WorldSizes,
  workspaces: readonly BenchWorkspace[],
): Promise<void> {
  for (const some of portions(workspaces)) {
    await client.command({ query: insertLinks(seed, some) });
    await client.command({ query: insertPartners(some) });
  }
  for (const table of Object.keys(NAMED) as (keyof typeof NAMED)[]) {
    await client.command({ query: insertNamed(table, workspaces) });
  }
  const removing = workspaces.filter(({ rank }) => rank % 3 === REMOVING_REST).map(({ id }) => id);
  await client.command({
    query: `INSERT INTO links (workspace_id, id, version, deleted, created_at)
SELECT workspace_id, id, 2, 1, fromUnixTimestamp64Milli(${END_MS}) FROM links
WHERE workspace_id IN ${array(removing)} AND cityHash64(id, ${seed}) % 200 = 0`,
  });
}
