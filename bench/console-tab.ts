import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { rounded } from './rounds.js'

/** What a tab holds once its garbage is collected. */
export interface TabMemory {
  readonly heap_MiB: number
  readonly nodes: number
  readonly listeners: number
}

/** A page that is not drawn by then will not be. */
const patience_ms = 60_000

/** A tab with the console of a broker, in a profile of its own. */
export class MeasuredTab {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #debugger: CDPSession

  private constructor(context: BrowserContext, page: Page, inspector: CDPSession) {
    this.#context = context
    this.page = page
    this.#debugger = inspector
  }

  /** Opens an empty tab of the size of a small screen. */
  static async open(browser: Browser): Promise<MeasuredTab> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    page.setDefaultTimeout(patience_ms)
    const inspector = await context.newCDPSession(page)
    await inspector.send('Performance.enable')
    return new MeasuredTab(context, page, inspector)
  }

  /** Loads the console; gives the milliseconds until its first view was drawn, as the browser counts them. */
  async load(url: string): Promise<number> {
    await this.page.goto(`${url}/console`)
    await this.page.locator('main h1').waitFor()
    await this.page.locator('main .cards').waitFor()
    return this.page.evaluate(() => {
      const [paint] = performance.getEntriesByName('first-contentful-paint')
      return paint?.startTime ?? Number.NaN
    })
  }

  /** The ids of all pages, in the order of the navigation. */
  async pageIds(): Promise<readonly string[]> {
    const links = await this.page.locator('nav a').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    return links.flatMap((href) => /^#\/(\w+)/.exec(href ?? '')?.[1] ?? [])
  }

  /** Opens a page by its address; gives the milliseconds until a frame was drawn in which nothing of it was being loaded. */
  show(id: string): Promise<number> {
    return this.page.evaluate(
      async ([address, title, patience]) => {
        const begun_ms = performance.now()
        location.hash = address
        for (;;) {
          await new Promise((resolve) => requestAnimationFrame(resolve))
          const took_ms = performance.now() - begun_ms
          const isThere = document.querySelector('main h1')?.textContent?.toLowerCase().startsWith(title) === true
          if (isThere && document.querySelector('main .loading') === null) return took_ms
          if (took_ms > patience) throw new Error(`${address} was not drawn within ${patience} ms`)
        }
      },
      [`#/${id}`, id.replace(/\W.*/, ''), patience_ms] as const,
    )
  }

  /** Opens a map by its address; gives the milliseconds that drawing it took, from the empty canvas to the last point. */
  async mapTime_ms(address: string): Promise<number> {
    await this.page.evaluate(() => {
      const { clearRect, fill } = CanvasRenderingContext2D.prototype
      const drawing = { began_ms: 0, took_ms: 0 }
      Object.assign(globalThis, { drawing })
      CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
        drawing.began_ms = performance.now()
        clearRect.call(this, x, y, width, height)
      }
      CanvasRenderingContext2D.prototype.fill = function (...given: unknown[]) {
        Reflect.apply(fill, this, given)
        drawing.took_ms = performance.now() - drawing.began_ms
      }
    })
    await this.show(address)
    const took = await this.page.waitForFunction(() => {
      const { began_ms, took_ms } = Object(globalThis).drawing
      return began_ms > 0 && took_ms > 0 && took_ms
    })
    return Number(await took.jsonValue())
  }

  /** How many points the map that is open says it shows. */
  async pointsShown(): Promise<number> {
    const text = await this.page.locator('.map p').first().textContent()
    return Number(/^([\d,]+)/.exec(text ?? '')?.[1]?.replaceAll(',', ''))
  }

  /** What it holds that nothing can collect. */
  async memory(): Promise<TabMemory> {
    await this.#debugger.send('HeapProfiler.collectGarbage')
    const { metrics } = await this.#debugger.send('Performance.getMetrics')
    const of = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN
    return {
      heap_MiB: rounded(of('JSHeapUsedSize') / 2 ** 20),
      nodes: of('Nodes'),
      listeners: of('JSEventListeners'),
    }
  }

  close(): Promise<void> {
    return this.#context.close()
  }
}
