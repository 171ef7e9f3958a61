/** A user of ClickHouse, as a file `users.xml` defines one. */
export interface EngineUser {
  readonly name: string;
  /** Such as `SELECT ON waymark.*`; all privileges if there are none. */
  readonly grants: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** Row policies: the condition of each table, as `database.table`. */
  readonly filters: Readonly<Record<string, string>>;
}

const escaped = (text: string) => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
const element = (name: string, ...content: string[]) => `<${name}>${content.join('\n')}</${name}>`;

function userXml(name: string, { name: profile, grants, filters }: EngineUser): string {
  const conditions = Object.entries(filters).map(([path, condition]) => {
    const [database = '', table = ''] = path.split('.');
    return element(database, element(table, element('filter', escaped(condition))));
  });
  return element(
    name,
    element('password', ''),
    element('networks', element('ip', '::/0')),
    element('profile', `of_${profile}`),
    element('quota', 'default'),
    ...(grants.length === 0
      ? [element('access_management', '1')]
      : [element('grants', ...grants.map((grant) => element('query', escaped(`GRANT ${grant}`))))]),
    ...(conditions.length === 0 ? [] : [element('databases', ...conditions)]),
  );
}

/**
 * The configuration of the engine, as XML.
 *
 * @param path where it will be written; it names itself as the file of the users
 * @param caller the user who runs the statements. The engine calls this user `default`
 */
export function usersXml(path: string, caller: EngineUser, others: readonly EngineUser[]): string {
  const profiles = [caller, ...others].map(({ name, settings }) =>
    element(`of_${name}`, ...Object.entries(settings).map(([setting, value]) => element(setting, escaped(value)))),
  );
  return element(
    'clickhouse',
    element('users_config', escaped(path)),
    element('profiles', element('default', ''), ...profiles),
    element('quotas', element('default', '')),
    element('users', userXml('default', caller), ...others.map((user) => userXml(user.name, user))),
  );
}
