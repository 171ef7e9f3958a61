export { customerObjects } from './customers/customer-objects.js';
export { customerCursorOf, customerFiltersOf, customerLinkIdOf } from './customers/customer-query.js';
export { expandedCustomers } from './customers/expanded-customers.js';
export { CUSTOMER_COLUMN_SOURCES, exportCustomers } from './customers/export-customers.js';
export { exportLinks, LINK_COLUMN_SOURCES } from './links/export-links.js';
export { type LinkListDeps, linkCursorOf, linkFiltersOf, linkSortOf } from './links/link-query.js';
