import { test } from 'tap'
import { pages } from '../../src/console/page/pages.js'
import { type ConsoleTab, needsBrowser, pageIds } from './browser.js'
import { givenConsole, receiver } from './given-console.js'

test('every page in a browser', needsBrowser, async (t) => {
  const { broker, load, tab } = await givenConsole(t)
  const { page } = tab

  await t.test('is reached and used by keyboard alone', async (t) => {
    await tab.show('overview')
    for (const { id, letter, title } of pages) {
      await page.keyboard.press('g')
      await page.keyboard.press(letter)
      await tab.settled(id)
      t.equal(await page.title(), `${title} · Rigel`)
      t.same(await focusFaults(tab), [], id)
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
    t.same(await page.locator('tbody[data-rows] td:first-child').allTextContents(), ['1', '0'])
  })

  await t.test('asks before it resets, and does so when it is told to', async (t) => {
    await tab.show('waits')
    const asked = () => page.locator('tr[data-wait=mailbox] td').first().textContent()
    const number = async () => Number((await asked())?.replaceAll(',', ''))
    await load.end()
    await page.keyboard.press('r')
    await page.locator('dialog[open]', { hasText: 'Count from zero?' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog[open]').waitFor({ state: 'detached' })
    const before = await number()
    t.ok(before > 0, 'Esc changes nothing')
    await page.keyboard.press('r')
    await page.locator('dialog[open]').getByRole('button', { name: 'Reset', exact: true }).press('Enter')
    await page.waitForFunction(
      (most) => Number(document.querySelector('tr[data-wait=mailbox] td')?.textContent?.replaceAll(',', '')) < most,
      before,
    )
    t.match(broker.output, 'statistics reset', 'the log says it')
  })

  await t.test('shows what clients stored as text', async (t) => {
    await tab.show('overview')
    await page.locator('.concerns', { hasText: receiver }).waitFor()
    for (const id of pageIds) {
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
  const reached = new Set<string>()
  const faults: string[] = []
  for (let steps = 0; steps < 200; steps += 1) {
    await page.keyboard.press('Tab')
    const found = await page.evaluate(() => {
      const element = document.activeElement
      if (element === null || element === document.body) return undefined
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      const name = `${element.tagName} ${element.getAttribute('aria-label') ?? element.textContent?.slice(0, 30)}`
      const isShown = outlineStyle !== 'none' && outlineWidth !== '0px'
      return { name, isShown, number: element.getAttribute('data-walked') ?? '' }
    })
    if (found === undefined || (found.number !== '' && reached.has(found.number))) break
    if (!found.isShown) faults.push(`no focus is seen: ${found.name}`)
    reached.add(found.number)
  }
  const all = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('[data-walked]')]
      .filter((element) => element.checkVisibility())
      .map((element) => ({ number: element.getAttribute('data-walked') ?? '', name: element.textContent ?? '' })),
  )
  return [...faults, ...all.filter(({ number }) => !reached.has(number)).map(({ name }) => `never reached: ${name}`)]
}
