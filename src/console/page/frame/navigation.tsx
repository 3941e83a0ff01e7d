import { linkTo } from '../address.js'
import { useObservable } from '../observable.js'
import { type ConsolePage, pagesOf } from '../pages.js'
import { ofCluster } from '../session.js'

/** Leads to the pages. */
export function Navigation({ open }: { readonly open: ConsolePage }) {
  const pages = pagesOf(useObservable(ofCluster))
  return (
    <nav class="pages" aria-label="Pages">
      <ul>
        {pages.map(({ id, title, letter }) => (
          <li key={id}>
            <a href={linkTo(id)} aria-current={id === open.id ? 'page' : undefined} title={`g ${letter}`}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
