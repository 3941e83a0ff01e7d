import type { ShownType, TypeList } from '../../shapes.js'
import { linkTo, openedAddress } from '../address.js'
import { countText } from '../format.js'
import { useObservable } from '../observable.js'
import { StoredText } from '../parts/small-parts.js'
import { Shown } from '../parts/states.js'
import type { Known } from '../session.js'

/** The number of types beside the table. */
const most = 200

/** Types with the number of their entities; each opens its entities. */
export function TypeNavigation({
  known,
  open,
}: {
  readonly known: Known<TypeList>
  readonly open: string | undefined
}) {
  const { type: _, ...others } = Object.fromEntries(useObservable(openedAddress).parameters)
  const link = (type: string | undefined) => linkTo('entities', { ...others, ...(type !== undefined && { type }) })
  return (
    <nav class="types" aria-label="Types">
      <Shown known={known} what="The types">
        {({ entities, types }) => {
          const sums = summed(types)
          return (
            <ul>
              <li>
                <a href={link(undefined)} aria-current={open === undefined ? 'true' : undefined}>
                  <span>all types</span>
                  <span>{countText(entities)}</span>
                </a>
              </li>
              {sums.slice(0, most).map(([type, count]) => (
                <li key={type}>
                  <a href={link(type)} aria-current={open === type ? 'true' : undefined}>
                    {type === '' ? <i>no type</i> : <StoredText text={type} most={40} />}
                    <span>{countText(count)}</span>
                  </a>
                </li>
              ))}
              {sums.length > most && <li class="quiet">and {sums.length - most} more</li>}
            </ul>
          )
        }}
      </Shown>
    </nav>
  )
}

function summed(types: readonly ShownType[]): readonly (readonly [type: string, entities: number])[] {
  const sums = new Map<string, number>()
  for (const { type, entities } of types) sums.set(type, (sums.get(type) ?? 0) + entities)
  return [...sums].sort(([, a], [, b]) => b - a)
}

/** The request for the types. The tenant is always named: without it, all tenants would be meant. */
export function typesPath(service: string, path: string | undefined): string {
  const query = new URLSearchParams({ service, limit: '1000', ...(path !== undefined && { path }) })
  return `/admin/types?${query}`
}

/** The number of entities of a type, or with an attribute, from the counts of the types; undefined if those do not tell it. */
export function countedEntities(
  { count, types }: TypeList,
  type: string | undefined,
  attribute: string | undefined,
): number | undefined {
  if (count > types.length) return undefined
  const ofType = types.filter((each) => type === undefined || each.type === type)
  if (attribute === undefined) return ofType.reduce((sum, { entities }) => sum + entities, 0)
  const isWhole = ofType.every(({ attributes, attributeNames }) => Object.keys(attributes).length === attributeNames)
  return isWhole ? ofType.reduce((sum, { attributes }) => sum + (attributes[attribute] ?? 0), 0) : undefined
}
