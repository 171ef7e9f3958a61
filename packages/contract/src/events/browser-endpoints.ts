/** The features that variants of the browser script add to the base script, in the order in which file names list them. */
export const SCRIPT_FEATURES = ['site-visit', 'outbound-domains', 'conversion-tracking'] as const;
export type ScriptFeature = (typeof SCRIPT_FEATURES)[number];

/** Path of the browser script with these features, such as `/analytics/script.site-visit.js`. */
export function scriptPath(features: readonly ScriptFeature[]): string {
  return `/analytics/${['script', ...SCRIPT_FEATURES.filter((feature) => features.includes(feature)), 'js'].join('.')}`;
}

/** Paths of all variants of the browser script. */
export const SCRIPT_PATHS: readonly string[] = Array.from({ length: 2 ** SCRIPT_FEATURES.length }, (_, chosen) =>
  scriptPath(SCRIPT_FEATURES.filter((_feature, index) => (chosen >> index) % 2 === 1)),
);

/** Paths that pages post events to, on the API and on every link domain. */
export const BROWSER_TRACK_PATHS = [
  '/track/click',
  '/track/open',
  '/track/visit',
  '/track/lead/client',
  '/track/sale/client',
] as const;
