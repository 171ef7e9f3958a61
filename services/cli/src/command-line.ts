import { readFileSync } from 'node:fs';
import { ApiError, eventsStreamQuerySchema } from '@waymark/contract';
import { type CAC, cac } from 'cac';
import { CommandError } from './command-error.js';
import { EXPORT_PARAMETERS } from './export/export-request.js';
import { flagOf, hideTexts, shownTexts } from './option-texts.js';
import { type CommandResult, printMessage, printResult, printStatus } from './output.js';

const PLAN_OPTION = 'free, pro, business, advanced or enterprise';
const WORKSPACE_OPTION = 'Id or slug of the workspace';
const QUOTAS_OPTION = 'Such as eventsPerMonth=1000000,domains=unlimited,tags=plan';
const PROGRAM_URL_OPTION = 'Destination site of partner links';

/** Loads a command when it is called, so that help and errors need none of its libraries. */
function lazily<Args extends unknown[], Result extends CommandResult | undefined>(
  load: () => Promise<(...args: Args) => Promise<Result>>,
) {
  return async (...args: Args): Promise<Result> => (await load())(...args);
}

/** Creates the parser of a command line. It keeps the parsed values, so each command line needs its own. */
export function createParser(): CAC {
  const cli = cac('waymark');
  cli.option('--json', 'Print JSON');

  cli
    .command('workspace create', 'Create a workspace with keys and, with --domain, its first domain')
    .option('--name <name>', 'Display name; default: the slug')
    .option('--slug <slug>', 'Short name: lower-case letters, digits, hyphens')
    .option('--plan <plan>', `${PLAN_OPTION}; default: enterprise, with unlimited events`)
    .option('--domain <host>', 'Domain of its short links, such as go.acme.com')
    .option('--program-url <url>', PROGRAM_URL_OPTION)
    .option('--quotas <quotas>', QUOTAS_OPTION)
    .option('--queue-shard <number>', 'Redis of its queue, of those in QUEUE_SHARDS; default: the one with the fewest')
    .action(lazily(async () => (await import('./commands/workspace.js')).createWorkspace));
  cli
    .command('workspace update [workspace]', 'Change a workspace')
    .option('--workspace <workspace>', WORKSPACE_OPTION)
    .option('--name <name>', 'Display name')
    .option('--slug <slug>', 'Short name')
    .option('--plan <plan>', PLAN_OPTION)
    .option('--program-url <url>', `${PROGRAM_URL_OPTION}; "" allows any site`)
    .option('--program-domain <host>', 'Domain for new partner links; "" for the one that is primary at the next link')
    .option('--program-folder <folder>', 'Id of the folder for new partner links; "" for none')
    .option('--allowed-hostnames <hosts>', 'Comma-separated hosts that may call the browser endpoints; "" allows all')
    .option('--requests-per-minute <number>', 'Rate limit of a key, or "plan"')
    .option('--analytics-per-second <number>', 'Rate limit of a key on /events and /analytics, or "plan"')
    .option('--quotas <quotas>', QUOTAS_OPTION)
    .option('--event-retention-days <number>', 'How long its events are kept, or "installation"')
    .option('--privacy-signal <policy>', 'Clicks of visitors who ask not to be tracked: ignore, no-id or no-track')
    .option('--address-retention-days <number>', 'How long addresses of its visitors are kept, or "installation"')
    .action(lazily(async () => (await import('./commands/workspace.js')).updateWorkspace));
  cli
    .command('workspace list', 'List all workspaces')
    .action(lazily(async () => (await import('./commands/workspace.js')).listWorkspaces));

  cli
    .command('key create', 'Create an API key')
    .option('--workspace <workspace>', WORKSPACE_OPTION)
    .option('--scopes <scopes>', 'Comma-separated, such as links.read,analytics.read; default: all')
    .option('--name <name>', 'Name of the key')
    .option('--role <role>', 'owner, member, viewer or billing', { default: 'owner' })
    .option('--expires <time>', 'Expiry time, ISO 8601')
    .option('--publishable', 'Create a publishable key for web pages, limited to the two client routes of /track')
    .action(lazily(async () => (await import('./commands/keys/key.js')).createKey));
  cli
    .command('key list', 'List API keys')
    .option('--workspace <workspace>', WORKSPACE_OPTION)
    .action(lazily(async () => (await import('./commands/keys/key.js')).listKeys));
  cli
    .command('key revoke <key>', 'Revoke an API key by its id or the key itself')
    .option('--workspace <workspace>', WORKSPACE_OPTION)
    .action(lazily(async () => (await import('./commands/keys/key.js')).revokeKey));

  cli
    .command('instance-key rotate', 'Make a new instance key in DATA_DIR; the current one stays accepted')
    .action(lazily(async () => (await import('./commands/keys/rotate-key.js')).rotateInstanceKey));
  cli
    .command('instance-key reseal', 'Seal what the previous instance key has sealed with the current one')
    .option('--check', 'Only count the values; fails while the previous key is needed')
    .action(lazily(async () => (await import('./commands/keys/instance-key.js')).resealValues));
  cli
    .command('admin-key rotate', 'Make a new admin key in DATA_DIR; the current one stays accepted')
    .action(lazily(async () => (await import('./commands/keys/rotate-key.js')).rotateAdminKey));

  cli
    .command('migrate up', 'Apply all pending migrations')
    .action(lazily(async () => (await import('./commands/migrate.js')).migrateUp));
  cli
    .command('migrate wait', 'Wait until all migrations are applied')
    .option('--seconds <number>', 'Time limit', { default: 600 })
    .option(
      '--unreachable-seconds <number>',
      'Succeed once ClickHouse has been unreachable for this long; default: never',
    )
    .action(lazily(async () => (await import('./commands/migrate.js')).awaitMigrations));
  cli
    .command('migrate status', 'Show which migrations are applied')
    .action(lazily(async () => (await import('./commands/migrate.js')).showMigrations));

  cli
    .command('retention', 'Delete what workspaces should not have any more; writers do it every night')
    .option('--dry-run', 'Only count it')
    .action(lazily(async () => (await import('./commands/personal-data/retention.js')).retainWorkspaces));

  cli
    .command('dead-letters list', 'List rows that ClickHouse or the checks of the writer refused, oldest first')
    .option('--limit <number>', 'Maximum number of rows', { default: 100 })
    .action(lazily(async () => (await import('./commands/dead-letters.js')).showDeadLetters));
  cli
    .command('dead-letters replay [...ids]', 'Requeue all dead letters, or those with the given ids')
    .action(lazily(async () => (await import('./commands/dead-letters.js')).replayLetters));
  cli
    .command('dead-letters discard [...ids]', 'Remove dead letters for good, after their rows are in a file')
    .option('--all', 'All of them, in place of ids')
    .option('--output <file>', 'New file for the removed rows, one line of JSON each')
    .action(lazily(async () => (await import('./commands/dead-letters.js')).discardLetters));

  cli
    .command('webhooks deliveries', 'List webhook delivery attempts, newest first')
    .option('--workspace <workspace>', WORKSPACE_OPTION)
    .option('--webhook <webhook>', 'Only of the webhook with this id')
    .option('--failed', 'Only of events that were never delivered')
    .option('--limit <number>', 'Maximum number of rows', { default: 100 })
    .action(lazily(async () => (await import('./commands/webhooks.js')).showDeliveries));
  cli
    .command(
      'webhooks replay [...events]',
      'Deliver events again: those with the given evt_ ids, or with --failed all undelivered ones',
    )
    .option('--workspace <workspace>', WORKSPACE_OPTION)
    .option('--webhook <webhook>', 'Only to the webhook with this id')
    .option('--failed', 'All events that were never delivered')
    .action(lazily(async () => (await import('./commands/webhooks.js')).replayWebhookDeliveries));

  cli
    .command('backup [directory]', 'Back up DATA_DIR; the stack may be running')
    .action(lazily(async () => (await import('./commands/backup.js')).backUp));
  cli
    .command('restore [directory]', 'Restore a backup into an empty DATA_DIR')
    .option('--without-instance-key', 'Also without the key of the backup: what it has sealed cannot be read')
    .action(lazily(async () => (await import('./commands/backup.js')).restore));
  cli
    .command('restored', 'Prepare stores that were restored in another way, before the services start')
    .option('--backup <time>', 'When the backup was created, ISO 8601')
    .action(lazily(async () => (await import('./commands/restored.js')).prepareRestored));

  cli
    .command('erasure create <customer>', 'Erase a person: a customer by its cus_ id, or ext_ and its external id')
    .option('--mode <mode>', 'anonymise or delete; default: anonymise')
    .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
    .option('--api <url>', 'URL of the API; default: the local stack')
    .action(lazily(async () => (await import('./commands/personal-data/erasure.js')).createErasure));
  cli
    .command('erasure list', 'List erasures, newest first')
    .option('--output <file>', 'File for `erasure replay`; one with erasures that are missing here stays as it is')
    .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
    .option('--api <url>', 'URL of the API; default: the local stack')
    .action(lazily(async () => (await import('./commands/personal-data/erasure.js')).listErasures));
  cli
    .command('erasure replay <file>', 'Erase again who is in a list, after a backup from before was restored')
    .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
    .option('--api <url>', 'URL of the API; default: the local stack')
    .action(lazily(async () => (await import('./commands/personal-data/erasure.js')).replayErasures));

  cli
    .command('move', 'Copy all data into another ClickHouse while everything but the store is stopped; may be repeated')
    .option('--to <url>', 'Server and new database, such as https://user@clickhouse.acme.com:8443/waymark')
    .option('--to-cluster <name>', 'Cluster of that server, for replicated and distributed tables')
    .action(lazily(async () => (await import('./commands/move.js')).moveStore));

  cli
    .command('shards list', 'Show the shards of the cluster and the logical shards on each')
    .action(lazily(async () => (await import('./commands/shards.js')).showShards));
  cli
    .command('shards add', 'Create the tables on servers that have been added to the cluster')
    .action(lazily(async () => (await import('./commands/shards.js')).addShards));
  cli
    .command('shards move [...logical]', 'Move logical shards, such as 17 40-49, to another shard; may be repeated')
    .option('--to <shard>', 'Number of the shard in `shards list`')
    .action(lazily(async () => (await import('./commands/shards.js')).moveShards));

  cli
    .command(
      'import <source> [location]',
      'Make the links of another system: dub, bitly, short.io, rebrandly, yourls, shlink, kutt or csv',
    )
    .usage('import <source> [file, - or address of the API]')
    .option('--workspace <workspace>', WORKSPACE_OPTION)
    .option('--domain <old=new>', 'Where the links of a domain go; a domain alone is for all others. May be repeated')
    .option('--dry-run', 'Only print what would be created')
    .option('--tags <tags>', 'Comma-separated names of tags for all links')
    .option(
      '--history <what>',
      'none; counts: the totals of the source become a baseline; events: clicks, leads, sales and customers; default: none',
    )
    .option('--log <file>', 'Table yourls_log, for events of YOURLS; default: that of the dump')
    .option('--on-conflict <what>', 'skip, update or fail, for links that exist and differ; default: skip')
    .option('--timezone <zone>', 'Zone of times without one, such as Europe/Berlin')
    .option('--report <prefix>', 'Begin of the names of the report files; default: import-<source>')
    .option('--source-workspace <id>', 'Workspace at Rebrandly')
    .action(lazily(async () => (await import('./commands/import.js')).importSource));
  cli
    .command('script', 'Print the tag that loads the browser script')
    .option('--host <host>', 'A link domain, or the origin of the links or the API, such as http://localhost:3001')
    .option('--variant <features>', 'Comma-separated: site-visit, outbound-domains, conversion-tracking')
    .option('--publishable-key <key>', 'For leads and sales from the page; adds conversion-tracking')
    .option('--integrity', 'Of this version only, with its hash: print it again before each upgrade')
    .action(lazily(async () => (await import('./commands/script.js')).showScript));

  cli
    .command('capacity', 'Estimate memory, disk, cores and processes for a load')
    .option('--events-per-second <number>', 'Average rate of clicks, leads and sales')
    .option('--queries-per-second <number>', 'Average rate of requests to /events and /analytics')
    .option('--retention-days <number>', 'How long events are kept')
    .option('--lead-share <number>', 'Share of leads among events; default: 0.02')
    .option('--sale-share <number>', 'Share of sales among events; default: 0.005')
    .option('--peak-factor <number>', 'Busiest minute as a multiple of the average; default: 3')
    .option('--outage-minutes <number>', 'Longest ClickHouse outage to survive; default: 15')
    .option('--redis-outage-minutes <number>', 'Longest Redis outage without a lost click; default: 5')
    .option('--replicas <number>', 'Copies of the data; default: 1')
    .action(lazily(async () => (await import('./commands/capacity.js')).showCapacity));

  cli
    .command('status', 'Show the health of components and the queue depths')
    .option('--api <url>', 'URL of the API; default: the local stack, or else BASE_URL')
    .action(lazily(async () => (await import('./commands/status.js')).showStatus));
  cli
    .command('demo', 'Send realistic traffic through the HTTP endpoints; with GEO_EDGE=vercel from many countries')
    .option('--seconds <number>', 'Duration', { default: 10 })
    .option('--rate <number>', 'Clicks per second', { default: 40 })
    .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
    .option('--api <url>', 'URL of the API; default: the local stack')
    .option('--links <url>', 'URL of short links; default: the local stack')
    .action(lazily(async () => (await import('./commands/demo.js')).runDemo));

  const tail = cli
    .command('tail', 'Print events as they are stored, one line of JSON each, until it is interrupted')
    .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
    .option('--api <url>', 'URL of the API; default: the local stack');
  for (const parameter of Object.keys(eventsStreamQuerySchema.out.shape)) {
    tail.option(`${flagOf(parameter)} <value>`, `The parameter ${parameter} of GET /events/stream`);
  }
  tail.action(lazily(async () => (await import('./commands/tail.js')).tailEvents));

  const exportCommand = cli
    .command('export <resource>', 'Write events, links, customers or analytics to a file or to standard output, whole')
    .option('--output <file>', 'File to write; default: standard output')
    .option('--job', 'Have the server make the file, then download it')
    .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
    .option('--api <url>', 'URL of the API; default: the local stack');
  for (const parameter of EXPORT_PARAMETERS) {
    exportCommand.option(`${flagOf(parameter)} <value>`, `The parameter ${parameter} of GET /<resource>/export`);
  }
  exportCommand.action(lazily(async () => (await import('./commands/export.js')).exportList));

  cli.help();
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  cli.version(version);
  return cli;
}

/** Joins the words of a command such as `workspace create` to one argument, because the parser only supports commands of one word. */
function joinCommandWords(cli: CAC, argv: readonly string[]): string[] {
  const [node = '', script = '', first, second, ...rest] = argv;
  const joined = `${first} ${second}`;
  return cli.commands.some(({ name }) => name === joined) ? [node, script, joined, ...rest] : [...argv];
}

/** Parses a command line. The texts of its arguments and options stay as they were typed. */
export function parseCommandLine(argv: readonly string[]): CAC {
  const cli = createParser();
  cli.parse(joinCommandWords(cli, hideTexts(argv)), { run: false });
  cli.args = cli.args.map((text) => String(shownTexts(text)));
  cli.options = Object.fromEntries(Object.entries(cli.options).map(([name, value]) => [name, shownTexts(value)]));
  return cli;
}

/** Whether ClickHouse has exceeded the time limit of a statement, or has ended the statement for that reason itself. */
function isClickHouseTimeout(err: Error): boolean {
  if (err.name === 'TimeoutError' || ('type' in err && err.type === 'TIMEOUT_EXCEEDED')) return true;
  return err.cause instanceof Error && isClickHouseTimeout(err.cause);
}

/** The message of an error for the user. */
function explain(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  if (isClickHouseTimeout(err)) {
    return 'ClickHouse has not answered in time. What the command has done so far is kept; run it again when ClickHouse is less busy.';
  }
  const isOurs =
    err instanceof CommandError ||
    err instanceof ApiError ||
    ['CACError', 'ImportError', 'SettingsError'].includes(err.name);
  return isOurs ? err.message : `${err.name}: ${err.message}`;
}

async function run(argv: readonly string[]): Promise<CommandResult | undefined> {
  const cli = parseCommandLine(argv);
  if (cli.options.help || cli.options.version) return undefined;
  if (cli.matchedCommand === undefined) {
    cli.outputHelp();
    throw new CommandError(
      cli.args.length === 0 ? 'the command is missing' : `there is no command "${cli.args.join(' ')}"`,
    );
  }
  return cli.runMatchedCommand();
}

/**
 * Runs a command line: prints the result to standard output, and errors to standard error.
 *
 * @param argv as in `process.argv`: the first two are Node and the script
 * @returns the exit code
 */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const asJson = argv.includes('--json');
  try {
    const result = await run(argv);
    if (result === undefined) return 0;
    printResult(result, asJson);
    return result.failed ? 1 : 0;
  } catch (err) {
    const message = explain(err);
    if (asJson) printMessage(JSON.stringify({ error: { message } }));
    else printStatus(message);
    return 1;
  }
}
