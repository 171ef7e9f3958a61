import type { DomainRecord } from '../model/record-schemas.js';

/**
 * Whether the links of a domain redirect: unless it is archived. A visit of another one is answered as if its link did not exist.
 *
 * @param record the record of the domain; the default domain has none that counts, because all workspaces share it and none may archive it
 */
export function isDomainServed(
  domain: string,
  record: Pick<DomainRecord, 'archived'> | undefined,
  defaultDomain: string | undefined,
): boolean {
  return domain === defaultDomain || record?.archived !== true;
}
