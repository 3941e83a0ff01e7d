import type { PlaceMalformed } from './place.js'

/**
 * The text of a mistake in a geographical query, which each API puts behind one of its own [NGSIv2 context 10.4, 14.5].
 * That of `georelMissing` is one of NGSIv2's parameters only.
 */
export function detailsOfPlace(mistake: PlaceMalformed): string {
  switch (mistake.kind) {
    case 'geometryUnknown':
      return 'error parsing geometry: Invalid selector in geometry specification'
    case 'geometryTwice':
      return 'error parsing geometry: geometry-type present more than once'
    case 'georelUnknown':
      return 'Invalid modifier in georel parameter'
    case 'relationTwice':
      return 'georel type present more than once'
    case 'limitTwice':
      return `${mistake.limit} present more than once`
    case 'limitMalformed':
      return `invalid number for ${mistake.limit}`
    case 'limitUnsuited':
      return `${mistake.limit} erroneously used with georel /${mistake.relation}/`
    case 'nearUnlimited':
      return 'georel /near/ without either minDistance nor maxDistance'
    case 'nearUnsuited':
      return 'georel /near/ used with geometry different than point'
    case 'coveredByUnsuited':
      return `${mistake.geometry} geometry cannot be used with coveredBy georel`
    case 'pairMalformed':
      return 'invalid point in URI param /coords/'
    case 'coordinateMalformed':
      return 'invalid coordinates'
    case 'pointsUnsuited':
      return `invalid number of coordinates for /${mistake.geometry}/`
    case 'boxFlat':
      return 'box coordinates are not defining an actual box'
    case 'polygonPointsTooFew':
      return 'Too few coordinates for polygon'
    case 'polygonOpen':
      return 'First and last point in polygon not the same'
    case 'pointsTooMany':
      return `number of coordinates above ${mistake.max}`
    case 'georelMissing':
      return 'URI param /geometry/ used without /georel/'
  }
}
