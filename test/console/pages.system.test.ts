import { hostname } from 'node:os'
import { test } from 'tap'
import { pages } from '../../src/api/console/page/pages.js'
import { until } from '../until.js'
import { type ConsoleTab, needsBrowser, pageIds } from './browser.js'
import { givenConsole, receiver } from './given-console.js'

test('every page in a browser', needsBrowser, async (t) => {
  const { broker, load, tab, details } = await givenConsole(t)
  const { page } = tab

  await t.test('is reached and used by keyboard alone', async (t) => {
    await tab.show('overview')
    for (const { id, letter, title } of pages) {
      await tab.until(
        async () => {
          await page.keyboard.press('g')
          await page.keyboard.press(letter)
        },
        page.locator('h1', { hasText: title }),
      )
      await tab.drawn(id)
      await page.waitForFunction((wanted) => document.title === wanted, `${title} · ${hostname()} · Rigel`)
      // What is drawn anew meanwhile takes the focus with it: then once more.
      let faults: readonly string[] = []
      const isReached = async () => {
        faults = await focusFaults(tab)
        return faults.length === 0
      }
      await until(isReached, () => `${id} is walked through: ${faults}`)
      t.same(faults, [], id)
    }
    await page.keyboard.press('p')
    await page.locator('.banner', { hasText: 'Paused' }).waitFor()
    await page.keyboard.press('p')
    await page.locator('.banner').waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    await page.locator('dialog[open]', { hasText: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog[open]').waitFor({ state: 'detached' })
  })

  await t.test('begins on the ground of the system, before its program runs', async (t) => {
    const groundOf = async (theme: 'light' | 'dark'): Promise<string> => {
      await page.emulateMedia({ colorScheme: theme })
      return page.evaluate(() => {
        const { dataset } = document.documentElement
        const chosen = dataset['theme'] ?? ''
        delete dataset['theme']
        const { backgroundColor } = getComputedStyle(document.body)
        dataset['theme'] = chosen
        return backgroundColor
      })
    }
    t.equal(await groundOf('light'), 'rgb(255, 255, 255)')
    const [red = 255] = (await groundOf('dark')).match(/\d+/g)?.map(Number) ?? []
    t.ok(red < 50, 'it is dark')
    await page.emulateMedia({ colorScheme: 'light' })
  })

  await t.test('walks through tables by j and k, and sorts them', async (t) => {
    await tab.show('overview')
    const isAt = (text: string) =>
      page.waitForFunction((wanted) => document.activeElement?.closest('tr')?.cells[0]?.textContent === wanted, text)
    await page.keyboard.press('j')
    await isAt('0')
    await page.keyboard.press('j')
    await isAt('1')
    await page.keyboard.press('k')
    await isAt('0')
    const byNumber = page.getByRole('button', { name: 'partition', exact: true })
    await byNumber.press('Enter')
    await byNumber.press('Enter')
    await page.locator('th[aria-sort=descending]').waitFor()
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll('tbody[data-rows] td:first-child')].map((cell) => cell.textContent).join() ===
        '1,0',
    )
    t.pass('from the last to the first')
  })

  await t.test('asks before it resets, and does so when it is told to', async (t) => {
    await tab.show('waits')
    await load.end()
    const count = () => page.locator('tr[data-wait=mailbox] td').first().textContent()
    const question = page.locator('dialog[open]', { hasText: 'Count from zero?' })
    await page.waitForFunction(() => document.querySelector('tr[data-wait=mailbox] td')?.textContent !== '0')
    await page.keyboard.press('r')
    await question.waitFor()
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    const before = Number((await count())?.replaceAll(',', ''))
    t.ok(before > 0, 'Esc changes nothing')
    await page.keyboard.press('r')
    await question.waitFor()
    await question.getByRole('button', { name: 'Reset', exact: true }).press('Enter')
    await page.waitForFunction(
      (most) => Number(document.querySelector('tr[data-wait=mailbox] td')?.textContent?.replaceAll(',', '')) < most,
      before,
    )
    await broker.writes('statistics reset')
    t.pass('the log says it')
  })

  await t.test('shows all lines of a request, by keyboard', async (t) => {
    await tab.show('trace')
    await until(async () => {
      // Each request has several lines at this level.
      await broker.send('GET', '/v2/entities/Hostile', undefined, { 'Fiware-Correlator': 'one-of-many' })
      return (await page.locator('tbody[data-rows] tr', { hasText: 'one-of-' }).count()) > 1
    })
    await page.keyboard.press('p')
    await page.locator('.banner', { hasText: 'Paused' }).waitFor()
    await tab.until(
      async () => {
        await page.locator('tbody[data-rows] tr', { hasText: 'one-of-' }).first().focus()
        await page.keyboard.press('Enter')
      },
      page.getByRole('heading', { name: 'Request one-of-many' }),
    )
    const dialog = page.getByRole('dialog')
    const lines = await dialog.locator('tbody tr').count()
    t.ok(lines > 1, `${lines} lines`)
    const times = await dialog
      .locator('time')
      .evaluateAll((all) => all.map((each) => each.getAttribute('datetime') ?? ''))
    t.same(times, times.toSorted(), 'in their order')
    t.same(await tab.accessibilityFaults(), [])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.keyboard.press('p')
  })

  await t.test('shows what clients stored as text', async (t) => {
    await tab.show('overview')
    await page.locator('.concerns', { hasText: receiver }).waitFor()
    for (const id of [...pageIds, ...details]) {
      await tab.show(id)
      const carriedOut = await page.locator('img, script:not([src]), a[href^="javascript:"]').count()
      t.equal(carriedOut, 0, id)
    }
    t.same(tab.takeProblems(), [])
  })
})

/** Goes from one element to the next by Tab until it comes round; tells which ones show no focus or are never reached. */
async function focusFaults({ page }: ConsoleTab): Promise<readonly string[]> {
  await page.evaluate(() => {
    // From the beginning of the page, wherever the walk through the one before has ended.
    document.body.tabIndex = -1
    document.body.focus()
    document.body.removeAttribute('tabindex')
    for (const [at, element] of [
      ...document.querySelectorAll('a[href], button:not(:disabled), select, input, summary'),
    ].entries()) {
      element.setAttribute('data-walked', String(at))
    }
  })
  await page.evaluate(() => {
    const walked: Focused[] = []
    Object.assign(globalThis, { walked })
    document.addEventListener('focusin', ({ target }) => {
      if (!(target instanceof HTMLElement)) return
      const { outlineStyle, outlineWidth } = getComputedStyle(target)
      const name = `${target.tagName} ${target.getAttribute('aria-label') ?? target.textContent?.slice(0, 30)}`
      const isShown = outlineStyle !== 'none' && outlineWidth !== '0px'
      walked.push({ name, isShown, number: target.getAttribute('data-walked') ?? '' })
    })
  })
  let walked: readonly Focused[] = []
  // In groups, since each look at the page takes as long as many keys.
  for (let groups = 0; groups < 20 && new Set(walked.map(({ number }) => number)).size === walked.length; groups += 1) {
    for (let keys = 0; keys < 20; keys += 1) await page.keyboard.press('Tab')
    walked = await page.evaluate(() => (Object(globalThis).walked as Focused[]).filter(({ number }) => number !== ''))
  }
  // The walk may end in a field, which would take the next key as text.
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur())
  const reached = new Set(walked.map(({ number }) => number))
  const faults = walked.filter(({ isShown }) => !isShown).map(({ name }) => `no focus is seen: ${name}`)
  const all = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('[data-walked]')]
      .filter((element) => element.checkVisibility())
      .map((element) => ({ number: element.getAttribute('data-walked') ?? '', name: element.textContent ?? '' })),
  )
  return [...faults, ...all.filter(({ number }) => !reached.has(number)).map(({ name }) => `never reached: ${name}`)]
}

/** What has had the focus. */
interface Focused {
  readonly name: string
  readonly isShown: boolean
  /** Of those that were there when the walk began. */
  readonly number: string
}
