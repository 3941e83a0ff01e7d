import { linkTo } from '../address.js'
import { type ConsolePage, pages } from '../pages.js'

/** Leads to the pages. */
export function Navigation({ open }: { readonly open: ConsolePage }) {
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
