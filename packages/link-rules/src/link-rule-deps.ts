import type { LinkListDeps } from '@waymark/record-lists';

/** Dependencies of checks and creations of links. */
export interface LinkRuleDeps extends LinkListDeps {
  /** Epoch milliseconds. */
  readonly now: () => number;
}
