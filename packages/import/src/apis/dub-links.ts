import { ImportError } from '../model/import-error.js';
import { type Cursor, nextCursor, readAtCursor } from './dub-cursors.js';
import { listIn, shortId, textIn, UnreadRecord } from './pages.js';
import type { SourceClient } from './source-client.js';

interface DubApi {
  readonly client: SourceClient;
  /** Base URL, without a slash at its end. */
  readonly address: string;
}

/** Most folders of a source, and most characters of their ids and names: they are in memory for the whole import. */
const FOLDERS_MAX = 20_000;
const FOLDER_CHARS_MAX = 4_000_000;
/** Most ids of links that are kept in memory to leave out a link that comes again, because it was moved to another folder meanwhile. */
const IDS_MAX = 100_000;
/** The statuses with which a folder is refused that the key may not read, or that was deleted meanwhile. */
const REFUSALS: readonly unknown[] = [403, 404];

/** Reads the names of the folders that the key may read, by id. @throws ImportError when they do not fit into memory */
export async function dubFolders({ client, address }: DubApi): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  let chars = 0;
  for (let page = 1; ; page++) {
    const folders = listIn(await client.getJson(`${address}/folders?page=${page}&pageSize=50`));
    const before = names.size;
    for (const folder of folders) {
      const [id = '', name = ''] = [textIn(folder, 'id'), textIn(folder, 'name')];
      chars += id.length + name.length;
      names.set(id, name);
      if (names.size > FOLDERS_MAX || chars > FOLDER_CHARS_MAX)
        throw new ImportError('the source has too many folders');
    }
    if (names.size === before) return names;
  }
}

/** The pages of a list; a record of the first page comes again in the order of ids, and is left out there. */
async function* pagesOf({ client }: DubApi, url: string): AsyncGenerator<readonly unknown[]> {
  let first = new Set<string | undefined>();
  let cursor: Cursor | undefined;
  do {
    const { records, cursor: at } = await readAtCursor(cursor, async (query) =>
      listIn(await client.getJson(`${url}${query}`)),
    );
    if (cursor === undefined) first = new Set(records.map((record) => textIn(record, 'id')));
    const isFirst = cursor === undefined;
    cursor = nextCursor(at, records);
    yield isFirst ? records : records.filter((record) => !first.has(textIn(record, 'id')));
  } while (cursor !== undefined);
}

/** The folders with links that the key may not read, with the number of links; none when the source does not count them. */
async function unlisted({ client, address }: DubApi, names: ReadonlyMap<string, string>): Promise<UnreadRecord[]> {
  let counts: readonly unknown[];
  try {
    counts = listIn(await client.getJson(`${address}/links/count?groupBy=folderId&showArchived=true`));
  } catch (err) {
    if (err instanceof ImportError) return [];
    throw err;
  }
  return counts.flatMap((group) => {
    const folderId = textIn(group, 'folderId');
    const links = Number(textIn(group, '_count') ?? textIn(group, 'count') ?? 0);
    if (folderId === undefined || names.has(folderId) || !(links > 0)) return [];
    return new UnreadRecord({ folderId, links }, `the key may not read the folder ${folderId}: its links are left out`);
  });
}

/**
 * Reads the links: first without a folder, which dub takes for those in no folder, and other servers for all; then those of each folder
 * that has not come yet. Folders that the key may not read are named last.
 *
 * @param folderNames what {@link dubFolders} returns
 */
export async function* dubPages(api: DubApi, folderNames: ReadonlyMap<string, string>) {
  const url = `${api.address}/links?pageSize=100&showArchived=true&sortBy=createdAt&sortOrder=asc`;
  const listed = new Set<string>();
  const ids = new Set<string>();
  const isNew = (link: unknown) => {
    const id = shortId(textIn(link, 'id') ?? '');
    if (id === '' || ids.size >= IDS_MAX) return !ids.has(id);
    return ids.size !== ids.add(id).size;
  };
  for await (const page of pagesOf(api, url)) {
    for (const link of page) {
      const folderId = textIn(link, 'folderId');
      if (folderId !== undefined && folderNames.has(folderId)) listed.add(folderId);
    }
    yield page.filter(isNew);
  }
  const closed: UnreadRecord[] = [];
  for (const [folderId, name] of folderNames) {
    if (listed.has(folderId)) continue;
    try {
      for await (const page of pagesOf(api, `${url}&folderId=${encodeURIComponent(folderId)}`))
        yield page.filter(isNew);
    } catch (err) {
      if (!(err instanceof ImportError && REFUSALS.includes(err.status))) throw err;
      closed.push(
        new UnreadRecord({ folderId, name }, `the key may not read the folder "${name}": its links are left out`),
      );
    }
  }
  yield [...closed, ...(await unlisted(api, folderNames))];
}
