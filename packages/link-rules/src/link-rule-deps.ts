import type { LinkListDeps } from '@waymark/record-lists';

/** What checking and creating links needs. */
export interface LinkRuleDeps extends LinkListDeps {
  readonly now: () => number;
}
