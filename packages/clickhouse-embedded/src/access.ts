import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What a statement may do: read and write tables. Sources (`READ` and `WRITE` on files, addresses and other databases),
 * dictionaries, functions, backups, named collections, users and `SYSTEM` are not among it, so the engine refuses them.
 */
const GRANTS = [
  'SHOW DATABASES, SHOW TABLES, SHOW COLUMNS, SELECT, INSERT, ALTER, TRUNCATE, OPTIMIZE ON *.*',
  'CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP DATABASE, DROP TABLE, DROP VIEW, KILL QUERY ON *.*',
];

/** Engines that a table or a database may have. They keep what they hold in the data directory, or nowhere. */
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

/** What no statement and no URL can set otherwise. */
const FIXED: Readonly<Record<string, string>> = {
  // The rows of VALUES are values: an expression among them would be run without having been looked at.
  input_format_values_interpret_expressions: '0',
  input_format_values_deduce_templates_of_expressions: '0',
};

/** Settings that name a file or an address, or hold a piece of a statement. They keep their defaults. */
const CLOSED = [
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
  // Of tables: a disk is described, path or address and all, where it is used.
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
  const fixed = Object.entries(FIXED).map(([name, value]) => element(name, value));
  const constraints = [...Object.keys(FIXED), ...CLOSED].map((name) => element(name, '<readonly/>'));
  const engines = [...TABLE_ENGINES, ...DATABASE_ENGINES].map((name) => `TABLE ENGINE ON ${name}`);
  const grants = [...GRANTS, ...new Set(engines)].map((grant) => element('query', `GRANT ${grant}`));
  const user = [
    // Clients that get this far have given the password to the HTTP interface; the engine itself listens on no port.
    element('password', ''),
    element('networks', element('ip', '::/0')),
    element('profile', 'default'),
    element('quota', 'default'),
    element('grants', grants.join('\n')),
  ];
  return element(
    'clickhouse',
    [
      element('users_config', escaped(ownPath)),
      element('access_control_improvements', element('table_engines_require_grant', 'true')),
      element('profiles', element('default', [...fixed, element('constraints', constraints.join('\n'))].join('\n'))),
      element('users', element('default', user.join('\n'))),
      element('quotas', element('default', '')),
    ].join('\n'),
  );
}

/** Writes what statements may do to a file of the data directory, and returns the engine's argument that names it. */
export function writeAccess(dataDir: string): string {
  const path = join(dataDir, 'access.xml');
  writeFileSync(path, `${accessXml(path)}\n`, { mode: 0o600 });
  return `--config-file=${path}`;
}
