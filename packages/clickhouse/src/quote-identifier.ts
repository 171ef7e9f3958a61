/** A name, such as that of a table or a cluster, as a quoted identifier of ClickHouse's SQL. */
export function quoteIdentifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``;
}
