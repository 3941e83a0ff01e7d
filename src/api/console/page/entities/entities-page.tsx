import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { EntityList as EntityPage, PointList, ShownEntityRow, TypeList } from '../../shapes.js'
import { openPage, setParameter, useTenant } from '../address.js'
import { countText } from '../format.js'
import { minor, textColumn, timeColumn } from '../parts/columns.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { pathWith, SearchField, useParameter } from '../parts/filter-fields.js'
import { PageHead } from '../parts/page-head.js'
import { StoredText } from '../parts/small-parts.js'
import { FailedState, LoadingState, Shown } from '../parts/states.js'
import { useResource } from '../session.js'
import { EntityDetail } from './entity-detail.js'
import type { PlacesShown } from './entity-map.js'
import { countedEntities, TypeNavigation, typesPath } from './types.js'

/** Entities: types with counts, entities page by page or on a map, and a single one whose id is in the address. */
export function EntitiesPage() {
  const id = useParameter('id')
  const isMap = useParameter('view') === 'map'
  if (id !== undefined) return <EntityDetail id={id} key={id} />
  return <EntityBrowser isMap={isMap} />
}

const limit = 50

function EntityBrowser({ isMap }: { readonly isMap: boolean }) {
  const service = useTenant() ?? ''
  const [type, path, area] = [useParameter('type'), useParameter('path'), useParameter('area')]
  const ofId = { prefix: useParameter('prefix'), pattern: useParameter('pattern') }
  const filters = { type, path, area, ...ofId }
  const attribute = useParameter('attribute')
  // The total comes from the counts of the types, which are read anyway.
  const search = pathWith('/admin/entities', { service, ...filters, attribute, limit, total: 'off' })
  const places = pathWith('/admin/entities/points', { service, type, path, area })
  // Requested here, since the map itself may have to be loaded first.
  const points = useResource<PointList>(isMap ? places : undefined, 10_000)
  const types = useResource<TypeList>(typesPath(service, path), 5_000)
  const isCounted = area === undefined && ofId.prefix === undefined && ofId.pattern === undefined
  const total = isCounted && types.value !== undefined ? countedEntities(types.value, type, attribute) : undefined
  return (
    <>
      <PageHead title="Entities" curl={isMap ? [search, places] : [search]}>
        <button type="button" aria-pressed={isMap} onClick={() => setParameter('view', isMap ? undefined : 'map')}>
          Map
        </button>
      </PageHead>
      <search class="finder">
        <SearchField name="prefix" label="Id begins with" isFirst />
        <SearchField name="pattern" label="Id matches" hint="regular expression" />
        <SearchField name="type" label="Type" />
        <SearchField name="path" label="Service path" hint="/a, /a/# with all below" />
        <SearchField name="attribute" label="Has the attribute" />
        <SearchField name="area" label="Area" hint="west,south,east,north" />
      </search>
      <div class="with-side">
        <TypeNavigation known={types} open={type} />
        <div class={isMap ? 'map-and-list' : undefined}>
          {isMap && <LazyMap known={points} />}
          <EntityList search={search} key={search} total={total} isNarrow={isMap} />
        </div>
      </div>
    </>
  )
}

/** A page that was opened: its cursor, and the number of entities on the pages before. */
interface TurnedPage {
  readonly after: string
  readonly before: number
}

/** Matching entities, page by page; the cursor of each page leads to the next one. */
function EntityList({
  search,
  total,
  isNarrow,
}: {
  readonly search: string
  /** The number on all pages, if it is known. */
  readonly total: number | undefined
  readonly isNarrow: boolean
}) {
  const [turned, setTurned] = useState<readonly TurnedPage[]>([])
  const { after, before = 0 }: Partial<TurnedPage> = turned.at(-1) ?? {}
  const known = useResource<EntityPage>(after === undefined ? search : `${search}&after=${after}`, 5_000)
  return (
    <Shown known={known} what="The entities">
      {({ entities, next }) => (
        <>
          <DataTable
            caption="Entities"
            columns={isNarrow ? columns.slice(0, 2) : columns}
            rows={entities}
            keyOf={({ id, type, servicePath }) => JSON.stringify([id, type, servicePath])}
            open={openEntity}
            empty={
              next === undefined
                ? 'No entity matches. Clients store entities with POST /v2/entities or POST /v1/updateContext.'
                : 'No match so far; more entities have not been searched.'
            }
          />
          <p class="pager">
            <span class="quiet">
              {entities.length > 0 && `${countText(before + 1)} to ${countText(before + entities.length)} of `}
              {totalText(total, before + entities.length, next !== undefined)}
            </span>
            <span class="actions">
              <button type="button" disabled={turned.length === 0} onClick={() => setTurned(turned.slice(0, -1))}>
                Previous
              </button>
              <button
                type="button"
                disabled={next === undefined}
                onClick={() =>
                  next !== undefined && setTurned([...turned, { after: next, before: before + entities.length }])
                }
              >
                Next
              </button>
            </span>
          </p>
        </>
      )}
    </Shown>
  )
}

/** On the last page the number counted there is newer. */
function totalText(total: number | undefined, shown: number, isMore: boolean): string {
  if (isMore && total !== undefined && total > shown) return countText(total)
  return `${isMore ? 'at least ' : ''}${countText(shown)}`
}

function openEntity({ id, type, servicePath }: ShownEntityRow): void {
  openPage('entities', { id, type, path: servicePath })
}

const columns: readonly Column<ShownEntityRow>[] = [
  { name: 'id', cell: ({ id }) => <StoredText text={id} most={80} />, order: ({ id }) => id },
  { name: 'type', cell: ({ type }) => <StoredText text={type} most={60} />, order: ({ type }) => type },
  {
    name: 'attributes',
    cell: ({ names, attributes }) => (
      <>
        <StoredText text={names.join(', ')} most={60} /> <span class="quiet">({attributes})</span>
      </>
    ),
    order: ({ attributes }) => attributes,
    isMinor: true,
  },
  textColumn('path', ({ servicePath }) => servicePath, minor),
  timeColumn('changed', ({ modified }) => modified),
  timeColumn('created', ({ created }) => created, minor),
]

/** The map with its coast lines is loaded when it is first opened. */
function LazyMap({ known }: PlacesShown) {
  const [loaded, setLoaded] = useState<{ readonly Map: ComponentType<PlacesShown> }>()
  const [missing, setMissing] = useState(false)
  useEffect(() => {
    import('./entity-map.js').then(
      ({ EntityMap }) => setLoaded({ Map: EntityMap }),
      () => setMissing(true),
    )
  }, [])
  if (missing) return <FailedState what="The map" fault="the broker cannot be reached" />
  return loaded === undefined ? <LoadingState what="the map" /> : <loaded.Map known={known} />
}
