import { type PlaceWords, parsePlace } from '../context/geo/place.js'
import { detailsOfPlace } from '../context/geo/place-errors.js'
import type { Scope } from '../context/query.js'
import { err, ok, type Result } from '../result.js'

/** The three parts of a geographical query as they are given. */
export interface PlaceTexts {
  readonly georel?: string | undefined
  readonly geometry?: string | undefined
  readonly coords?: string | undefined
}

type PlaceScope = Result<Scope | undefined, string>

/** The place that the URI parameters ask for, if they do; refuses with the text of the mistake [NGSIv2 context 10.4]. */
export function placeOfParameters({ georel, geometry, coords }: PlaceTexts): PlaceScope {
  if (geometry === undefined) {
    if (coords !== undefined) return unpaired('coords', 'geometry')
    return georel === undefined ? ok(undefined) : unpaired('georel', 'geometry')
  }
  if (coords === undefined) return unpaired('geometry', 'coords')
  return placeScope('Invalid query: ', georel, geometry, coords)
}

/** The place of an expression, which has all three parts or none; refuses with the text of the mistake [NGSIv2 context 10.4]. */
export function placeOfExpression({ georel, geometry, coords }: PlaceTexts): PlaceScope {
  if (georel === undefined && geometry === undefined && coords === undefined) return ok(undefined)
  if (georel === undefined || geometry === undefined || coords === undefined) {
    return err('partial geo expression: geometry, georel and coords have to be provided together')
  }
  return placeScope('error parsing geo-query fields: ', georel, geometry, coords)
}

function unpaired(given: string, missing: string): PlaceScope {
  return err(`Invalid query: URI param /${given}/ used without /${missing}/`)
}

function placeScope(before: string, georel: string | undefined, geometry: string, coords: string): PlaceScope {
  const place = parsePlace(wordsOf(georel, geometry, coords))
  return place.ok ? ok({ kind: 'place', place: place.value }) : err(`${before}${detailsOfPlace(place.error)}`)
}

/** Semicolons part the words of `georel` and `geometry`, and the points of `coords`. */
function wordsOf(georel: string | undefined, geometry: string, coords: string): PlaceWords {
  return {
    georel: georel?.split(';'),
    geometry: geometry.split(';'),
    coords: coords.split(';').map((pair) => pair.split(',')),
  }
}
