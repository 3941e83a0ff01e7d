import { parsePlace } from '../context/geo/place.js'
import { detailsOfPlace } from '../context/geo/place-errors.js'
import type { Scope } from '../context/query.js'
import { err, ok, type Result } from '../result.js'

/** The parts of a geographical query as they are written [NGSIv2 context 10.4]. */
interface PlaceTexts {
  readonly georel: string | undefined
  readonly geometry: string
  readonly coords: string
}

/** The condition that a geographical query sets; a refusal is the text of what is wrong, without what stands before it. */
export function placeScope({ georel, geometry, coords }: PlaceTexts): Result<Scope, string> {
  const place = parsePlace({
    georel: georel?.split(';'),
    geometry: geometry.split(';'),
    coords: coords.split(';').map((pair) => pair.split(',')),
  })
  return place.ok ? ok({ kind: 'place', place: place.value }) : err(detailsOfPlace(place.error))
}
