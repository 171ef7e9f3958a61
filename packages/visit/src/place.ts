import { isoCountry } from '@waymark/contract';

/** The location of a visitor. Missing parts are already filled in: `Unknown`, and `''` for the continent. */
export interface Place {
  /** ISO 3166-1, upper case. */
  readonly country: string;
  /** Subdivision part of ISO 3166-2 (`CA`). */
  readonly region: string;
  readonly city: string;
  /** `AF AN AS EU NA OC SA`. */
  readonly continent: string;
}

export const UNKNOWN = 'Unknown';
export const UNKNOWN_PLACE: Place = { country: UNKNOWN, region: UNKNOWN, city: UNKNOWN, continent: '' };

/** Formats of codes. Invalid codes are not stored, because callers filter by stored values. */
const COUNTRY = /^[A-Za-z]{2}$/;
const REGION = /^[A-Za-z0-9]{1,3}$/;
const CITY_CHARS_MAX = 100;
const CONTINENTS: ReadonlySet<string> = new Set(['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA']);

/** All countries by continent, for edges that send only the country (ISO 3166-1; transcontinental ones as in GeoNames). */
const COUNTRIES_BY_CONTINENT: Readonly<Record<string, string>> = {
  AF: 'AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW',
  AN: 'AQ BV GS HM TF',
  AS: 'AE AF AM AZ BD BH BN BT CC CN CX GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE',
  EU: 'AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK',
  NA: 'AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC TT US VC VG VI',
  OC: 'AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS',
  SA: 'AR BO BR CL CO EC FK GF GY PE PY SR UY VE',
};

const CONTINENT_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(COUNTRIES_BY_CONTINENT).flatMap(([continent, countries]) =>
    countries.split(' ').map((country) => [country, continent] as const),
  ),
);

/** A place as a database or an edge reports it, unchecked; absent parts are undefined. */
export interface RawPlace {
  readonly country: string | undefined;
  readonly region: string | undefined;
  readonly city: string | undefined;
  readonly continent: string | undefined;
}

/**
 * Undefined for a code that is not a country: edges and databases also send codes for regions (`EU`, `AP`), anonymous and satellite
 * networks (`A1`, `A2`), Tor (`T1`) and unknown (`XX`, `ZZ`). Such visitors may be from the EU: their addresses are not stored.
 */
function countryCode(raw: string | undefined): string | undefined {
  if (raw === undefined || !COUNTRY.test(raw)) return undefined;
  const country = isoCountry(raw.toUpperCase());
  return CONTINENT_OF.has(country) ? country : undefined;
}

/** The subdivision, also when the source puts the country in front (`US-CA`). */
function regionCode(raw: string | undefined, country: string): string {
  if (raw === undefined) return UNKNOWN;
  const bare = raw.length > 3 && raw.toUpperCase().startsWith(`${country}-`) ? raw.slice(country.length + 1) : raw;
  return REGION.test(bare) ? bare.toUpperCase() : UNKNOWN;
}

function cityName(raw: string | undefined): string {
  if (raw === undefined) return UNKNOWN;
  // A percent-encoded name may contain NUL, which the stores do not handle.
  const name = raw.trim().replaceAll('\0', '\ufffd');
  return name === '' || name.length > CITY_CHARS_MAX ? UNKNOWN : name;
}

function continentCode(raw: string | undefined, country: string | undefined): string {
  const code = raw?.toUpperCase();
  if (code !== undefined && CONTINENTS.has(code)) return code;
  return (country === undefined ? undefined : CONTINENT_OF.get(country)) ?? '';
}

/** The place with every part validated. Region and city are meaningless without a country, so they become `Unknown`. */
export function toPlace(raw: RawPlace): Place {
  const country = countryCode(raw.country);
  const continent = continentCode(raw.continent, country);
  if (country === undefined) return continent === '' ? UNKNOWN_PLACE : { ...UNKNOWN_PLACE, continent };
  return { country, region: regionCode(raw.region, country), city: cityName(raw.city), continent };
}

/** Addresses of their visitors are not stored: the members of the EU and GB, but not IS, LI, NO or CH, nor territories with codes of their own. */
const COUNTRIES_WITHOUT_ADDRESSES: ReadonlySet<string> = new Set(
  'AT BE BG CY CZ DE DK EE ES FI FR GB GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK'.split(' '),
);

/** Whether an address from this country may be stored; not for an unknown country, which may be one of those above. */
export function mayStoreAddress(country: string): boolean {
  return country !== UNKNOWN && !COUNTRIES_WITHOUT_ADDRESSES.has(country);
}
