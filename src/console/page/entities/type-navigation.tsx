import { linkTo, openedAddress } from '../address.js'
import { countText } from '../format.js'
import { useObservable } from '../observable.js'
import { Shown } from '../parts/states.js'
import { StoredText } from '../parts/stored-text.js'
import { useResource } from '../resource.js'
import { readTypes, type TypeInList } from './entities-reading.js'

/** As many types are shown beside the table. */
const most = 200

/** Types with the number of their entities; one leads to its entities. */
export function TypeNavigation({
  service,
  path,
  open,
}: {
  readonly service: string
  readonly path: string | undefined
  readonly open: string | undefined
}) {
  const known = useResource(typesPath(service, path), readTypes, 5_000)
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

/** The tenant is always named: without it all of them would be meant. */
function typesPath(service: string, path: string | undefined): string {
  const query = new URLSearchParams({ service, limit: '1000', ...(path !== undefined && { path }) })
  return `/admin/types?${query}`
}

function summed(types: readonly TypeInList[]): readonly (readonly [type: string, entities: number])[] {
  const sums = new Map<string, number>()
  for (const { type, entities } of types) sums.set(type, (sums.get(type) ?? 0) + entities)
  return [...sums].sort(([, a], [, b]) => b - a)
}
