import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { connectChromium, missingBrowser, startChromium } from '../../bench/chromium.js'
import { pages, pagesOf } from '../../src/api/console/page/pages.js'
import { until } from '../until.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const missing = missingBrowser()

/** What a test that needs a browser is given as its options: where none is, it says so and is skipped. */
export const needsBrowser = missing === undefined ? {} : { skip: missing }

/** All that a view can look like: each page is tried in each of them. */
export const appearances = [
  { theme: 'light', width: 1280, height: 900 },
  { theme: 'dark', width: 1280, height: 900 },
  { theme: 'light', width: 390, height: 844 },
  { theme: 'dark', width: 390, height: 844 },
] as const
export type Appearance = (typeof appearances)[number]

/** The ids of the pages, in the order of the navigation. */
export const pageIds = pages.map(({ id }) => id)

/** The variable that says where the browser is that the tests of a run share. */
export const browserOfRun = 'RIGEL_TEST_BROWSER'

/** The browser of the run, or one of its own for a file that runs alone; what was opened in it is closed with the test. */
export async function startBrowser(t: Test): Promise<Browser> {
  const address = process.env[browserOfRun]
  const browser = await (address === undefined ? startChromium() : connectChromium(address))
  t.teardown(() => browser.close())
  return browser
}

/** How long something may take on a loaded machine. */
export const patience_ms = 60_000

/** How long something that was done may take to lead somewhere, before it is done again. */
const again_ms = 10_000

/** A tab with the console, and all that went wrong in it. */
export class ConsoleTab {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #origin: string
  readonly #problems: string[] = []
  readonly requested: string[] = []

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.#context = context
    this.page = page
    this.#origin = origin
    page.on('console', (message) => {
      const { url } = message.location()
      if (!saysNotReady(message.text(), url)) this.#problems.push(`console: ${message.text()} (${url})`)
    })
    page.on('pageerror', (fault) => this.#problems.push(`fault: ${fault.message}`))
    page.on('request', (request) => {
      this.requested.push(request.url())
      const { origin, protocol } = new URL(request.url())
      if (origin !== this.#origin && protocol !== 'data:') this.#problems.push(`elsewhere: ${request.url()}`)
    })
  }

  /** Opens a page of the console of a broker, in a profile of its own. */
  static async open(browser: Browser, origin: string, id = '', look: Appearance = appearances[0]): Promise<ConsoleTab> {
    const { theme, width, height } = look
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: 'reduce',
    })
    context.setDefaultTimeout(patience_ms)
    const tab = new ConsoleTab(context, await context.newPage(), origin)
    await tab.page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
        reportError(new Error(`the policy forbids ${blockedURI} (${violatedDirective})`))
      })
    })
    await tab.page.goto(`${origin}/console#/${id}`)
    return tab
  }

  /** Opens another view of the console by its address, such as `entities?id=Room1`, and waits until it is drawn with what the broker says. */
  async show(address: string): Promise<void> {
    await this.page.evaluate((hash) => {
      location.hash = hash
    }, `#/${address}`)
    await this.drawn(address)
  }

  /** Resolves when the view is drawn and nothing of it is being loaded. */
  async drawn(address: string): Promise<void> {
    const [id, query = ''] = address.split('?', 2)
    const title = pagesOf(true).find((page) => page.id === id)?.title ?? ''
    await this.page.locator('h1', { hasText: new URLSearchParams(query).get('id') ?? title }).waitFor()
    await this.page.waitForFunction(() => document.querySelector('main .loading') === null)
  }

  /** Does something again and again until it has led where it should. */
  async until(act: () => Promise<unknown>, there: Locator): Promise<void> {
    await until(async () => {
      // What was done before may have led there since: done once more it would lead elsewhere.
      if (await there.isVisible()) return true
      await act()
      return there.waitFor({ timeout: again_ms }).then(
        () => true,
        () => false,
      )
    }, `it leads to ${there}`)
  }

  /** Gives another size or theme to the tab. */
  async look({ theme, width, height }: Appearance): Promise<void> {
    await this.page.setViewportSize({ width, height })
    await this.page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  }

  /** What went wrong since this was asked for last: messages of the browser, faults, requests to elsewhere. */
  takeProblems(): readonly string[] {
    return this.#problems.splice(0)
  }

  /** What axe finds, each with the element; by some of its rules only, if they are named. */
  async accessibilityFaults(...rules: readonly string[]): Promise<readonly string[]> {
    if (!(await this.page.evaluate(() => 'axe' in globalThis))) await this.page.evaluate(axeSource)
    return this.page.evaluate(async (only) => {
      const options = only.length === 0 ? {} : { runOnly: { type: 'rule', values: only } }
      const { violations } = await axe.run(document, { resultTypes: ['violations'], ...options })
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
      )
    }, rules)
  }

  /** Whether the page as a whole is wider than the window. */
  scrollsSideways(): Promise<boolean> {
    return this.page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
  }

  /** Keeps a picture for whoever looks at a test that failed. */
  async keepPicture(name: string): Promise<void> {
    mkdirSync(pictures, { recursive: true })
    await this.page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
  }

  close(): Promise<void> {
    return this.#context.close()
  }
}

/** Where pictures of pages are kept when a test fails. */
const pictures = join(root, '.tap', 'console')

/** Keeps a picture of each page in both themes if the test fails. */
export function keepPicturesOnFailure(t: Test, tab: ConsoleTab): void {
  t.teardown(async () => {
    if (t.passing()) return
    for (const look of appearances) {
      await tab.look(look)
      for (const id of pageIds) {
        await tab.show(id)
        await tab.keepPicture(`${id}-${look.theme}-${look.width}`)
      }
    }
  })
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe brings into the page. */
declare const axe: {
  run(
    context: Document,
    options: object,
  ): Promise<{
    readonly violations: readonly {
      readonly id: string
      readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
    }[]
  }>
}

/** Chromium itself writes that a broker which is too busy for a moment answers so. */
function saysNotReady(text: string, url: string): boolean {
  return /status of 503/.test(text) && url.endsWith('/health/ready')
}
