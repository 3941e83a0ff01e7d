import type { Value } from '../context/entity.js'
import { arrayTransformations } from './array-transformations.js'
import { numberTransformations } from './number-transformations.js'
import { patternTransformations } from './pattern-transformations.js'
import { textTransformations } from './text-transformations.js'
import type { Transformation, TransformationParts } from './transformation.js'

/** All transformations, by their names [NGSIv2 subscriptions 6.3]. */
export const transformations: ReadonlyMap<string, Transformation> = new Map(
  Object.entries<Transformation>({
    ...textTransformations,
    ...patternTransformations,
    ...numberTransformations,
    ...arrayTransformations,
  }),
)

/**
 * What a transformation makes of its input and its arguments: null when it does not take them, or takes more effort than there is;
 * undefined when there is none of this name [NGSIv2 subscriptions 6.3].
 */
export function transformed(
  name: string,
  input: Value,
  inputs: readonly Value[],
  parts: TransformationParts,
): Value | undefined {
  const transformation = transformations.get(name)
  if (transformation === undefined) return undefined
  const { cost, run } = transformation
  return parts.scope.effort.spend(cost(input, inputs, parts.scope)) ? run(input, inputs, parts) : null
}
