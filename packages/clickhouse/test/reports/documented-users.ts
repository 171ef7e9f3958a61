import { readFileSync } from 'node:fs';
import type { EngineUser } from '@waymark/test-kit';
import { splitStatements } from '../../src/migrations/split-statements.js';

const PAGE = readFileSync(new URL('../../../../docs/sql.md', import.meta.url), 'utf8');
const [, SQL = ''] = /^```sql\n(CREATE DATABASE [\s\S]+?)\n```$/m.exec(PAGE) ?? [];

/** The statements of docs/sql.md for the dashboard of one workspace: its users, and what else is made. */
export interface DocumentedUsers {
  readonly users: readonly Omit<EngineUser, 'filters'>[];
  /** The condition of the row policy on all tables of the database, by user. */
  readonly policies: ReadonlyMap<string, string>;
  /** The other statements. */
  readonly statements: readonly string[];
}

/** The values of settings; what they may be changed to is left out, because the engine refuses it in its file of users. */
function valuesOf(settings: string): Record<string, string> {
  const values = settings.split(/,\s*/).map((setting) => /^(\w+) = (\d+)/.exec(setting) ?? []);
  return Object.fromEntries(values.map(([, name = '', value = '']) => [name, value]));
}

/** Reads the statements. The engine has no place for users, so those about users are returned in parts, for its file of users. */
export function readDocumentedUsers(): DocumentedUsers {
  const settings = new Map<string, Record<string, string>>();
  const grants = new Map<string, string[]>();
  const policies = new Map<string, string>();
  const statements: string[] = [];
  for (const statement of splitStatements(SQL)) {
    const user = /^CREATE USER (\w+) IDENTIFIED BY '[^']+'(?: HOST NONE)?\s+SETTINGS ([\s\S]+)$/.exec(statement);
    const policy = /^CREATE ROW POLICY \w+ ON waymark\.\* USING (.+) TO (\w+)$/.exec(statement);
    const grant = /^GRANT (.+) TO (\w+)$/.exec(statement);
    if (user !== null) settings.set(user[1] ?? '', valuesOf(user[2] ?? ''));
    else if (policy !== null) policies.set(policy[2] ?? '', policy[1] ?? '');
    else if (grant !== null) grants.set(grant[2] ?? '', [...(grants.get(grant[2] ?? '') ?? []), grant[1] ?? '']);
    else statements.push(statement);
  }
  const users = [...settings].map(([name, values]) => ({ name, settings: values, grants: grants.get(name) ?? [] }));
  return { users, policies, statements };
}
