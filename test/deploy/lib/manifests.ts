import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

/** The root of the repository. */
export const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'deploy/kubernetes');

type Labels = Readonly<Record<string, string>>;

/** The fields of a container that the tests use. */
interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly envFrom?: readonly {
    readonly configMapRef?: { readonly name: string };
    readonly secretRef?: { readonly name: string };
  }[];
  readonly env?: readonly { readonly name: string }[];
  readonly securityContext?: unknown;
  readonly resources?: { readonly requests?: Labels; readonly limits?: Labels };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: unknown;
  readonly readinessProbe?: unknown;
  readonly livenessProbe?: unknown;
}

interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly securityContext?: unknown;
    readonly automountServiceAccountToken?: boolean;
    readonly topologySpreadConstraints?: readonly { readonly labelSelector: { readonly matchLabels: Labels } }[];
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly { readonly name: string }[];
  };
}

/** A document of the manifests, with the fields of its spec that the tests use. */
export interface Manifest {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: Labels };
  readonly data?: Labels;
  readonly stringData?: Labels;
  readonly spec: {
    readonly selector: { readonly matchLabels?: Labels };
    readonly podSelector: { readonly matchLabels: Labels };
    readonly template: PodTemplate;
    readonly egress?: readonly {
      readonly to?: unknown;
      readonly ports?: readonly { readonly port: string | number }[];
    }[];
    readonly serviceName?: string;
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
    readonly scaleTargetRef: { readonly kind: string; readonly name: string };
    readonly ingress?: readonly {
      readonly from?: unknown;
      readonly ports: readonly { readonly port: string | number }[];
    }[];
    readonly rules: readonly {
      readonly host: string;
      readonly http: {
        readonly paths: readonly {
          readonly path: string;
          readonly backend: { readonly service: { readonly name: string; readonly port: { readonly name: string } } };
        }[];
      };
    }[];
  };
}

/**
 * Every manifest that a kustomization.yaml names, as plain values.
 *
 * @param part the folder below deploy/kubernetes
 */
export function readManifests(part = ''): Manifest[] {
  const folder = join(FOLDER, part);
  const { resources } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as { resources: string[] };
  return resources.flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join('; ')}`);
      return { ...(document.toJS() as Omit<Manifest, 'file'>), file };
    }),
  );
}

/** A manifest as a value of its type in kubernetes-models, without the name of its file, for `typeFaults`. */
export function schemaValue({ file: _file, ...value }: Manifest) {
  return { module: `kubernetes-models/${value.apiVersion}`, type: `I${value.kind}`, value };
}

/** The text of a file of deploy/kubernetes. */
export function manifestText(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8');
}

/** A required variable of docker-compose.yml, `${NAME:?message}`. */
export const REQUIRED = /\$\{(\w+):\?[^{}]+\}/g;

/** A variable of docker-compose.yml that has a default, `${NAME:-default}`. */
export const DEFAULTED = /\$\{(\w+):-([^{}]+)\}/g;

const secretOf = (name: string) => createHash('sha256').update(name).digest('hex');

/** Completes the environment of a template: replaces every placeholder, sets every required variable and no optional one. */
export function withSecrets(environment: Readonly<Record<string, string | null>>): Record<string, string> {
  const set = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== null);
  return Object.fromEntries(
    set.map(([name, value]) => [
      name,
      value
        .replaceAll('change-me', 'own-secret')
        .replace(/^0{64}$/, '07'.repeat(32))
        .replace(DEFAULTED, '$2')
        .replace(REQUIRED, (_all, variable: string) => secretOf(variable)),
    ]),
  );
}
