/**
 * The `Secure` attribute, to append to a cookie; empty for a visit over plain HTTP, whose browser would reject such a cookie.
 */
export function secureAttribute({ isSecure }: { readonly isSecure: boolean }): string {
  return isSecure ? '; Secure' : '';
}

/** The raw value of a cookie in a `Cookie` header; undefined when there is no cookie of that name. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  const prefix = `${name}=`;
  for (let at = header.indexOf(prefix); at >= 0; at = header.indexOf(prefix, at + 1)) {
    const before = at === 0 ? ';' : header.slice(0, at).trimEnd().at(-1);
    if (before !== ';' && before !== undefined) continue;
    const end = header.indexOf(';', at);
    return header.slice(at + prefix.length, end < 0 ? undefined : end).trim();
  }
  return undefined;
}
