export { afterRestore } from './after-restore.js';
export { type Catalog, createCatalog } from './catalog.js';
export type { NewCustomer } from './customers/customer-rules.js';
export { customerName, customerRow, draftCustomer, type FirstClick } from './customers/customers.js';
export { generatedName } from './customers/generated-name.js';
export { draftDomain } from './domains/domains.js';
export { isDomainServed } from './domains/served-domain.js';
export type { ErasedPeopleReader } from './erasures/erased-people.js';
export type { ErasedPeople } from './erasures/erasure-index.js';
export type { ErasureSubject } from './erasures/erasures.js';
export type { OpenExportJob } from './exports/export-jobs.js';
export { type ExportCredentials, HEALTHY_SCHEDULE, type OpenExportSchedule } from './exports/export-schedules.js';
export type { OpenImportJob } from './imports/import-jobs.js';
export {
  checkFolderVisible,
  isFolderHidden,
  type LinkVisibility,
  linkVisibility,
  visibleLinks,
  WEBHOOK_VISIBILITY,
} from './links/caller-visibility.js';
export type { LinkFilters } from './links/link-filters.js';
export type { LinkGroup } from './links/link-list.js';
export { shortLinkOf } from './links/link-object.js';
export {
  keepUtm,
  mergeUtm,
  normaliseUrl,
  readUtm,
  requireUrl,
  type UtmValues,
  withRewrittenQuery,
} from './links/link-url.js';
export { type NewLink, newLinkRecord, prefixedKey, randomKey } from './links/new-link-record.js';
export {
  API_KEYS_TABLE,
  EXPORT_JOBS_TABLE,
  EXPORT_SCHEDULES_TABLE,
  FOLDERS_TABLE,
  IMPORT_JOBS_TABLE,
  LINKS_TABLE,
  PARTNERS_TABLE,
  WORKSPACES_TABLE,
} from './model/entity-types.js';
export { foreignDomain, LockedError, unavailable } from './model/errors.js';
export { isExpired } from './model/is-expired.js';
export * from './model/job-record-schemas.js';
export {
  checkKey,
  isReservedKey,
  isServiceRoute,
  keyChars,
  normaliseKey,
  otherKeyForms,
  SITE_FILES,
  storedKey,
} from './model/link-key.js';
export { isUnreadable } from './model/parse-record.js';
export { API_READ } from './model/read-options.js';
export * from './model/record-schemas.js';
export { linkInState } from './partners/partner-state.js';
export { NO_PARTNER_TOTALS, type PartnerTotals } from './partners/partner-totals.js';
export type { CatalogSubscriber } from './redis/catalog-changes.js';
export { isUnfinished } from './resources/jobs.js';
export type { SealedCounts, SealedReport } from './secrets/sealed-values.js';
export { type CustomerTotals, type LinkCounters, NO_CUSTOMER_TOTALS, NO_LINK_COUNTERS } from './totals/counters.js';
export { WEBHOOKS_MAX } from './webhooks/webhooks.js';
export type { KeyCaller } from './workspaces/api-keys.js';
export {
  applyWorkspaceRetention,
  countExpiredRows,
  haveEventsExpired,
  type RetentionReport,
} from './workspaces/workspace-retention.js';
export {
  type CreatedWorkspace,
  DEFAULT_PLAN,
  DEFAULT_QUOTAS,
  type WorkspacePatch,
  workspaceLimits,
} from './workspaces/workspaces.js';
