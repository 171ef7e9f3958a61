import { Dub } from 'dub';

/** The methods of the SDK's resources, which are created lazily by getters. */
export function methodsOf(client: Dub): string[] {
  const resources = Object.entries(Object.getOwnPropertyDescriptors(Dub.prototype)).filter(([, { get }]) => get);
  return resources.flatMap(([name]) => {
    const resource = (client as unknown as Record<string, object>)[name] ?? {};
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(resource));
    return methods.filter((method) => method !== 'constructor').map((method) => `${name}.${method}`);
  });
}
