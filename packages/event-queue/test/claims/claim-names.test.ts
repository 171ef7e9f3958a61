import { describe, expect, it } from 'vitest';
import { clickClaim, customerClaim, firstSaleClaim, invoiceClaim, leadClaim } from '../../src/index.js';

describe('claim names', () => {
  it('treats event names that differ in case or spaces as one lead', () => {
    expect(leadClaim('ws_1', 'cust', 'Sign Up')).toBe(leadClaim('ws_1', 'cust', 'sign-up'));
    expect(leadClaim('ws_1', 'cust', 'Sign Up')).not.toBe(leadClaim('ws_1', 'cust', 'Sign Off'));
  });

  it('cannot be made equal by text that imitates a separator', () => {
    expect(leadClaim('ws_1', 'a:b', 'c')).not.toBe(leadClaim('ws_1', 'a', 'b:c'));
    expect(leadClaim('ws_1', 'a","b', 'c')).not.toBe(leadClaim('ws_1', 'a', 'b","c'));
    expect(clickClaim('link_1', '2')).not.toBe(clickClaim('link_', '12'));
  });

  it('keeps kinds and workspaces apart', () => {
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

  it('holds no text of a customer in the clear', () => {
    expect(invoiceClaim('ws_1', 'secret-invoice')).not.toContain('secret');
    expect(customerClaim('ws_1', 'jane@acme.com')).not.toContain('jane');
  });
});
