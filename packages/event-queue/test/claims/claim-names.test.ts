import { describe, expect, it } from 'vitest';
import { clickClaim, customerClaim, firstSaleClaim, invoiceClaim, leadClaim } from '../../src/index.js';

describe('claim names', () => {
  it('are the same for event names that differ only in case, or in spaces and hyphens', () => {
    expect(leadClaim('ws_1', 'cust', 'Sign Up')).toBe(leadClaim('ws_1', 'cust', 'sign-up'));
    expect(leadClaim('ws_1', 'cust', 'Sign Up')).not.toBe(leadClaim('ws_1', 'cust', 'Sign Off'));
  });

  it('differ even if a text contains a separator', () => {
    expect(leadClaim('ws_1', 'a:b', 'c')).not.toBe(leadClaim('ws_1', 'a', 'b:c'));
    expect(leadClaim('ws_1', 'a","b', 'c')).not.toBe(leadClaim('ws_1', 'a', 'b","c'));
    expect(clickClaim('link_1', '2')).not.toBe(clickClaim('link_', '12'));
  });

  it('differ between kinds and workspaces', () => {
    const names = [
      clickClaim('ws_1', 'x'),
      customerClaim('ws_1', 'x'),
      customerClaim('ws_2', 'x'),
      invoiceClaim('ws_1', 'x'),
      leadClaim('ws_1', 'x', 'x'),
      firstSaleClaim('ws_1', 'x', 'x'),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  it('contain no personal data in clear text', () => {
    expect(invoiceClaim('ws_1', 'secret-invoice')).not.toContain('secret');
    expect(customerClaim('ws_1', 'jane@acme.com')).not.toContain('jane');
  });
});
