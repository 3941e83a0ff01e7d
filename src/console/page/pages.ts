import type { ComponentType } from 'preact'

/** A page of the console. Its module is loaded when it is opened. */
export interface ConsolePage {
  /** In the address. */
  readonly id: string
  readonly title: string
  /** The letter that opens it after `g`. */
  readonly letter: string
  readonly load: () => Promise<ComponentType>
}

/** All pages in the order of the navigation; the first one is shown without an address. */
export const pages: readonly ConsolePage[] = [
  {
    id: 'overview',
    title: 'Overview',
    letter: 'o',
    load: async () => (await import('./overview/overview-page.js')).OverviewPage,
  },
  { id: 'waits', title: 'Waits', letter: 'w', load: async () => (await import('./waits/waits-page.js')).WaitsPage },
]

/** The page of an id; the first one for an unknown id. */
export function pageById(id: string): ConsolePage {
  const found = pages.find((page) => page.id === id) ?? pages[0]
  if (found === undefined) throw new Error('the console has no pages')
  return found
}
