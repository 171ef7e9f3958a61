import type { LinkRecord } from '@waymark/catalog';
import { ROOT_KEY } from '@waymark/contract';

/** Path of a link's own address, as cookies and redirects to itself name it. */
export function linkPath({ key }: Pick<LinkRecord, 'key'>): string {
  return key === ROOT_KEY ? '/' : encodeURI(`/${key}`);
}
