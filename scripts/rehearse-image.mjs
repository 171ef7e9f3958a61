// Builds the image of deploy/docker/Dockerfile without Docker: each stage is a directory, in which its COPY and RUN steps are run
// in order. `node scripts/rehearse-image.mjs DIRECTORY` leaves the last stage in DIRECTORY/image. Only the paths of the steps are
// translated: /app and /data of a stage are below its directory.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node scripts/rehearse-image.mjs DIRECTORY');
const directory = resolve(target);
const instructions = readFileSync('deploy/docker/Dockerfile', 'utf8')
  .replaceAll(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line))
  .map((line) => line.replaceAll(/\s+/g, ' ').trim());

/** Directories and environments of the stages by name; `node:…` images are this machine's own Node. */
const stages = new Map();
let stage;

/** Copies the repository without the paths of .dockerignore: at any depth for `**` patterns, otherwise at the top. */
function copyContext(to) {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n').filter(Boolean);
  const isIgnored = (path) => ignored.some((name) => name === path || name === `**/${basename(path)}`);
  cpSync('.', to, { recursive: true, verbatimSymlinks: true, filter: (path) => !isIgnored(path) });
}

const steps = {
  FROM(text) {
    const [from, , name = 'image'] = text.split(' ');
    const parent = stages.get(from);
    stage = { root: join(directory, name), env: { ...parent?.env } };
    stages.set(name, stage);
    mkdirSync(join(stage.root, 'app'), { recursive: true });
    if (parent !== undefined) cpSync(parent.root, stage.root, { recursive: true, verbatimSymlinks: true });
  },
  ENV(text) {
    for (const assignment of text.split(' ')) {
      const [name, value] = assignment.split('=');
      stage.env[name] = value.startsWith('/') ? join(stage.root, value) : value;
    }
  },
  COPY(text) {
    const [first, ...rest] = text.split(' ');
    const from = /^--from=(.+)$/.exec(first)?.[1];
    if (from === undefined) return copyContext(join(stage.root, 'app'));
    const [source, destination] = rest;
    const to = join(stage.root, 'app', destination.endsWith('/') ? join(destination, basename(source)) : destination);
    cpSync(join(stages.get(from).root, source), to, { recursive: true, verbatimSymlinks: true });
  },
  RUN(text) {
    const command = text
      .replaceAll(/--mount=\S+ /g, '')
      .replaceAll(/(^|\s)\/data\b/g, `$1${join(stage.root, 'data')}`)
      .replaceAll('chown node:node', 'chown 1000:1000');
    execFileSync('sh', ['-c', command], {
      cwd: join(stage.root, 'app'),
      stdio: 'inherit',
      env: { ...process.env, ...stage.env },
    });
  },
};

if (existsSync(directory)) throw new Error(`${directory} already exists`);
for (const instruction of instructions) {
  const [name, ...words] = instruction.split(' ');
  if (!(name in steps)) continue;
  console.log(`· ${instruction}`);
  steps[name](words.join(' '));
}
console.log(`· ${join(directory, 'image')}`);
