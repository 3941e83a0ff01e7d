import type { ShownType, TypeList } from '../../shapes.js'
import { linkTo, openedAddress } from '../address.js'
import { countText } from '../format.js'
import { useObservable } from '../observable.js'
import { Shown } from '../parts/states.js'
import { StoredText } from '../parts/stored-text.js'
import type { Known } from '../resource.js'

/** As many types are shown beside the table. */
const most = 200

/** Types with the number of their entities; one leads to its entities. */
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
