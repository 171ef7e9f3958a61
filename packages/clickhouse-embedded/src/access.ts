import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The privileges of every statement: to read and write tables. Privileges for sources (`READ` and `WRITE` on files, addresses and
 * other databases), dictionaries, functions, backups, named collections, users and `SYSTEM` are not granted, so the engine refuses
 * such statements.
 */
const GRANTS = [
  'SHOW DATABASES, SHOW TABLES, SHOW COLUMNS, SELECT, INSERT, ALTER, TRUNCATE, OPTIMIZE ON *.*',
  'CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP DATABASE, DROP TABLE, DROP VIEW, KILL QUERY ON *.*',
];

/** The engines that tables and databases may have: those that store data in the data directory, in memory, or not at all. */
export const TABLE_ENGINES = [
  'MergeTree',
  'ReplacingMergeTree',
  'SummingMergeTree',
  'AggregatingMergeTree',
  'CollapsingMergeTree',
  'VersionedCollapsingMergeTree',
  'Memory',
  'Null',
  'View',
  'MaterializedView',
] as const;
export const DATABASE_ENGINES = ['Atomic', 'Memory'] as const;

/** Settings that no statement and no URL can change. */
const FIXED_SETTINGS: Readonly<Record<string, string>> = {
  // Expressions in the rows of VALUES are refused, because they would be evaluated without the check of the statement.
  input_format_values_interpret_expressions: '0',
  input_format_values_deduce_templates_of_expressions: '0',
};

/** Settings that name a file or an address, or contain a part of a statement. They cannot be changed from their defaults. */
const LOCKED_SETTINGS = [
  'additional_result_filter',
  'additional_table_filters',
  'ai_function_embedding_default_credentials',
  'ai_function_text_default_credentials',
  'allow_experimental_eval_table_function',
  'cluster_for_parallel_replicas',
  'dialect',
  'filesystem_cache_name',
  'format_avro_schema_registry_url',
  'format_schema',
  'format_schema_message_name',
  'format_schema_source',
  'format_template_resultset',
  'format_template_resultset_format',
  'format_template_row',
  'format_template_row_format',
  'implicit_table_at_top_level',
  'input_format_record_errors_file_path',
  'output_format_schema',
  'parallel_replicas_custom_key',
  'polyglot_dialect',
  'rename_files_after_processing',
  'url_base',
  // Settings of tables: a disk can be defined, with its path or address, where it is used.
  'merge_tree_disk',
  'merge_tree_storage_policy',
];

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}

function accessXml(ownPath: string): string {
  const fixed = Object.entries(FIXED_SETTINGS).map(([name, value]) => element(name, value));
  const constraints = [...Object.keys(FIXED_SETTINGS), ...LOCKED_SETTINGS].map((name) => element(name, '<readonly/>'));
  const engines = [...TABLE_ENGINES, ...DATABASE_ENGINES].map((name) => `TABLE ENGINE ON ${name}`);
  const grants = [...GRANTS, ...new Set(engines)].map((grant) => element('query', `GRANT ${grant}`));
  const user = [
    // The HTTP interface has checked the password already; the engine itself listens on no port.
    element('password', ''),
    element('networks', element('ip', '::/0')),
    element('profile', 'default'),
    element('quota', 'default'),
    element('grants', grants.join('\n')),
  ];
  return element(
    'clickhouse',
    [
      // The users are defined in this file too.
      element('users_config', escaped(ownPath)),
      element('access_control_improvements', element('table_engines_require_grant', 'true')),
      element('profiles', element('default', [...fixed, element('constraints', constraints.join('\n'))].join('\n'))),
      element('users', element('default', user.join('\n'))),
      element('quotas', element('default', '')),
    ].join('\n'),
  );
}

/** Writes the access configuration into the data directory, and returns the engine argument that names the file. */
export function writeAccess(dataDir: string): string {
  const path = join(dataDir, 'access.xml');
  writeFileSync(path, `${accessXml(path)}\n`, { mode: 0o600 });
  return `--config-file=${path}`;
}
