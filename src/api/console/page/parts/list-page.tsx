import type { ComponentChildren } from 'preact'
import { setParameter } from '../address.js'
import { countText } from '../format.js'
import { useResource } from '../session.js'
import { DataTable, type TableShown } from './data-table.js'
import { pathWith, useParameter } from './filter-fields.js'
import { PageHead } from './page-head.js'
import { Shown } from './states.js'

/** The number of rows on a page. */
const limit = 100

/** A page of a list: search fields, a table of results, and links to the other pages. */
export function ListPage<List extends { readonly count: number }, Row>({
  title,
  path,
  filters,
  fields,
  rowsOf,
  ...table
}: {
  readonly title: string
  readonly path: string
  /** The parameters of the request, beside those of paging. */
  readonly filters: Readonly<Record<string, string | undefined>>
  /** The fields that set them. */
  readonly fields: ComponentChildren
  readonly rowsOf: (list: List) => readonly Row[]
} & Pick<TableShown<Row>, 'columns' | 'keyOf' | 'open' | 'empty'>) {
  const offset = useOffset()
  const call = pathWith(path, { ...filters, limit, offset })
  const known = useResource<List>(call)
  const what = title.toLowerCase()
  return (
    <>
      <PageHead title={title} curl={[call]} />
      <search class="finder">{fields}</search>
      <Shown known={known} what={`The ${what}`}>
        {(list) => (
          <>
            <DataTable caption={title} rows={rowsOf(list)} {...table} />
            {list.count > 0 && <Pager count={list.count} limit={limit} what={what} />}
          </>
        )}
      </Shown>
    </>
  )
}

/** The links through a list of known length. */
function Pager({ count, limit, what }: { readonly count: number; readonly limit: number; readonly what: string }) {
  const offset = useOffset()
  const last = Math.min(count, offset + limit)
  const to = (from: number) => setParameter('from', from <= 0 ? undefined : String(from))
  return (
    <p class="pager">
      <span class="quiet">
        {count === 0 ? `no ${what}` : `${what} ${countText(offset + 1)} to ${countText(last)} of ${countText(count)}`}
        {count > limit && '; columns sort what is on the page'}
      </span>
      {count > limit && (
        <span class="actions">
          <button type="button" disabled={offset === 0} onClick={() => to(offset - limit)}>
            Previous
          </button>
          <button type="button" disabled={last >= count} onClick={() => to(offset + limit)}>
            Next
          </button>
        </span>
      )}
    </p>
  )
}

/** The offset of the page, from the address. */
function useOffset(): number {
  const set = useParameter('from') ?? '0'
  return /^\d{1,7}$/.test(set) ? Number(set) : 0
}
