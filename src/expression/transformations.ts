import type { Value } from '../context/entity.js'
import { arrayTransformations } from './array-transformations.js'
import { numberTransformations } from './number-transformations.js'
import { patternTransformations } from './pattern-transformations.js'
import { textTransformations } from './text-transformations.js'
import type { Transformation, TransformationParts } from './transformation.js'

const transformations: ReadonlyMap<string, Transformation> = new Map(
  Object.entries<Transformation>({
    ...textTransformations,
    ...patternTransformations,
    ...numberTransformations,
    ...arrayTransformations,
  }),
)

/**
 * What a transformation makes of its input and its arguments: null when it does not take them; undefined when there is none
 * of this name [NGSIv2 subscriptions 6.3].
 */
export function transformed(
  name: string,
  input: Value,
  inputs: readonly Value[],
  parts: TransformationParts,
): Value | undefined {
  return transformations.get(name)?.(input, inputs, parts)
}
