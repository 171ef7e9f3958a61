export { changedLink, changeFoundLinks, hasUtmFields, withoutFoundAddress, withoutShownTag } from './change-link.js';
export { checkNotShared, domainSlug } from './domain-slug.js';
export { checkBulkImage, completeLink, draftLink } from './draft-link.js';
export { checkUtmValues, destinationOf, plainFields, variantsOf } from './link-fields.js';
export { checkLinkQuota, linksThisMonth, withinLinkQuota } from './link-quota.js';
export type { LinkRuleDeps } from './link-rule-deps.js';
export { settleStoredLinks } from './lost-references.js';
export { linkContext, newLink } from './new-link.js';
export { folderWriteRefusal, type LinkAuthor, type LinkContext } from './referencing-fields.js';
