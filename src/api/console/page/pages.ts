import type { ComponentType } from 'preact'

/** A page of the console. Its module is loaded when the page is opened. */
export interface ConsolePage {
  /** The id in the address. */
  readonly id: string
  readonly title: string
  /** The letter that opens it after `g`. */
  readonly letter: string
  readonly load: () => Promise<ComponentType>
}

/** The pages of every broker in the order of the navigation; the first one is the default. */
export const pages: readonly ConsolePage[] = [
  {
    id: 'overview',
    title: 'Overview',
    letter: 'o',
    load: async () => (await import('./overview/overview-page.js')).OverviewPage,
  },
  { id: 'alarms', title: 'Alarms', letter: 'a', load: async () => (await import('./alarms.js')).AlarmsPage },
  { id: 'waits', title: 'Waits', letter: 'w', load: async () => (await import('./waits/waits-page.js')).WaitsPage },
  {
    id: 'entities',
    title: 'Entities',
    letter: 'e',
    load: async () => (await import('./entities/entities-page.js')).EntitiesPage,
  },
  {
    id: 'subscriptions',
    title: 'Subscriptions',
    letter: 's',
    load: async () => (await import('./subscriptions/subscriptions-page.js')).SubscriptionsPage,
  },
  {
    id: 'receivers',
    title: 'Receivers',
    letter: 'r',
    load: async () => (await import('./receivers.js')).ReceiversPage,
  },
  {
    id: 'registrations',
    title: 'Registrations',
    letter: 'n',
    load: async () => (await import('./registrations.js')).RegistrationsPage,
  },
  {
    id: 'requests',
    title: 'Requests',
    letter: 'q',
    load: async () => (await import('./requests/requests-page.js')).RequestsPage,
  },
  { id: 'trace', title: 'Trace', letter: 't', load: async () => (await import('./trace/trace-page.js')).TracePage },
  {
    id: 'settings',
    title: 'Settings',
    letter: 'x',
    load: async () => (await import('./settings.js')).SettingsPage,
  },
]

/** For brokers in a cluster. */
const clusterPage: ConsolePage = {
  id: 'cluster',
  title: 'Cluster',
  letter: 'c',
  load: async () => (await import('./cluster.js')).ClusterPage,
}

export function pagesOf(hasCluster: boolean): readonly ConsolePage[] {
  return hasCluster ? pages.toSpliced(-1, 0, clusterPage) : pages
}

/** The page of an id; the first one for an unknown id. */
export function pageById(id: string): ConsolePage {
  const found = pagesOf(true).find((page) => page.id === id) ?? pages[0]
  if (found === undefined) throw new Error('the console has no pages')
  return found
}
