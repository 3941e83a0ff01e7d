import { Observable } from './observable.js'

/** Light or dark: as the system says, or as the reader has chosen. */
export type Theme = 'system' | 'light' | 'dark'

const kept = 'rigel-theme'

/** What the reader has chosen. The choice is kept in the browser: it is no secret. */
export const theme = new Observable<Theme>(keptTheme())

/** Counts how often colours have changed, for what draws with them itself. */
export const colours = new Observable(0)

function darkSystem(): MediaQueryList {
  return matchMedia('(prefers-color-scheme: dark)')
}

/** Shows the theme now, after each choice, and when the system changes its own. */
export function followTheme(): void {
  const system = darkSystem()
  const show = () => {
    const { value } = theme
    document.documentElement.dataset['theme'] = value === 'system' ? (system.matches ? 'dark' : 'light') : value
    colours.set(colours.value + 1)
  }
  show()
  theme.observe(show)
  system.addEventListener('change', show)
}

/** Takes the next theme: the other one than what is seen, and then back to the system's. */
export function nextTheme(): void {
  const order: readonly Theme[] = darkSystem().matches ? ['system', 'light', 'dark'] : ['system', 'dark', 'light']
  const chosen = order[(order.indexOf(theme.value) + 1) % order.length] ?? 'system'
  theme.set(chosen)
  try {
    localStorage.setItem(kept, chosen)
  } catch {
    // A browser that keeps nothing shows the system's theme next time.
  }
}

/** A colour of the theme, by the name of its custom property. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

function keptTheme(): Theme {
  try {
    const chosen = localStorage.getItem(kept)
    return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
  } catch {
    return 'system'
  }
}
