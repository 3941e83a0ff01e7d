import { existsSync } from 'node:fs'
import type { Browser, BrowserServer } from 'playwright-core'
import { missingPackages } from './installed.js'

/** The browser: Debian's, unless `RIGEL_CHROMIUM` names another one. */
const program = process.env['RIGEL_CHROMIUM'] ?? '/usr/bin/chromium'

/** Why no browser can be started here, and what to do about it; nothing where one can. */
export function missingBrowser(): string | undefined {
  const missing = missingPackages('playwright-core')
  if (missing.length > 0) return `only the sources have ${missing.join(' and ')}`
  if (existsSync(program)) return undefined
  return `there is no browser at ${program}: install chromium, or name one with RIGEL_CHROMIUM`
}

/** How it is started: it asks nobody but this machine. */
const settings = {
  executablePath: program,
  args: [
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-dev-shm-usage',
    '--disable-sync',
    '--no-first-run',
    // Nothing but this machine has a name.
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
  ],
}

/** A browser that ends when it is closed. */
export async function startChromium(): Promise<Browser> {
  const { chromium } = await import('playwright-core')
  return chromium.launch(settings)
}

/** A browser that other processes of this machine use, by its address. */
export async function serveChromium(): Promise<BrowserServer> {
  const { chromium } = await import('playwright-core')
  return chromium.launchServer({ ...settings, host: '127.0.0.1' })
}

/** A browser that another process serves; to close it ends what was opened in it. */
export async function connectChromium(address: string): Promise<Browser> {
  const { chromium } = await import('playwright-core')
  return chromium.connect(address)
}
