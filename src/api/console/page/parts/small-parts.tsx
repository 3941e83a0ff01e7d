import type { ComponentChildren } from 'preact'
import { exactText, shareText, spanText } from '../format.js'
import { useClock } from '../observable.js'

/** The meaning of a state. Each has a symbol of its own, since colour alone is not enough. */
export type Tone = 'good' | 'warning' | 'bad' | 'plain'

const signs: Readonly<Record<Tone, string>> = { good: '●', warning: '⚠', bad: '✗', plain: '' }

/** A short fact in a frame: a state, or a name with its value. */
export function Chip({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return (
    <span class={`chip ${tone}`}>
      {signs[tone] !== '' && <span aria-hidden="true">{signs[tone]} </span>}
      {children}
    </span>
  )
}

/** The heads of a table's columns, each with its classes, and what stands behind them. */
export function Heads({
  names,
  children,
}: {
  readonly names: Readonly<Record<string, '' | 'minor' | 'number' | 'number minor'>>
  readonly children?: ComponentChildren
}) {
  return (
    <thead>
      <tr>
        {Object.entries(names).map(([name, classes]) => (
          <th scope="col" class={classes || undefined} key={name}>
            {name}
          </th>
        ))}
        {children}
      </tr>
    </thead>
  )
}

/** A share from 0 to 1 as a bar behind its text. */
function Bar({ share, text, tone = 'plain' }: { readonly share: number; readonly text: string; readonly tone?: Tone }) {
  const width = `${Math.round(1000 * Math.min(1, Math.max(0, share))) / 10}%`
  return (
    <span class={`bar ${tone}`}>
      <span class="bar-text">{text}</span>
      <span class="bar-track" aria-hidden="true">
        <span class="bar-fill" style={{ width }} />
      </span>
    </span>
  )
}

const tones: Readonly<Record<string, Tone>> = { active: 'good', oneshot: 'good', failed: 'bad', expired: 'warning' }

/** How busy a thread is, as a share; NaN where nobody knows. */
export function BusyBar({ share }: { readonly share: number }) {
  const text = Number.isNaN(share) ? '–' : shareText(share)
  return <Bar share={share || 0} text={text} tone={share > 0.9 ? 'warning' : 'plain'} />
}

/** The status of a subscription or a registration. */
export function StatusChip({ status }: { readonly status: string }) {
  return <Chip tone={tones[status] ?? 'plain'}>{status}</Chip>
}

/** A stage of a request; `tone` is the class of its colour, the same wherever the stage is shown. */
export interface Stage {
  readonly name: string
  readonly tone: string
  readonly title: string
}

/** The stages of a request in order, by their names in `/admin/slow`. */
export const stages = [
  { name: 'read', tone: 'tone-read', title: 'Its body is received' },
  { name: 'permit', tone: 'tone-permit', title: 'Waits for a permit to work (-reqPoolSize)' },
  { name: 'parse', tone: 'tone-parse', title: 'Its payload is parsed in the HTTP thread' },
  { name: 'mailbox', tone: 'tone-mailbox', title: 'Waits in the mailbox of its partition' },
  { name: 'decide', tone: 'tone-decide', title: 'Its turn is decided, with all other requests in it' },
  { name: 'commit', tone: 'tone-commit', title: 'Its turn is logged, synced and applied; of the slowest partition' },
  { name: 'handle', tone: 'tone-handle', title: 'Waits for a read handle of its partition (-dbPoolSize)' },
  { name: 'operation', tone: 'tone-operation', title: 'The rest of its operation: other partitions, scans, providers' },
  { name: 'render', tone: 'tone-render', title: 'Its response is rendered' },
] as const satisfies readonly Stage[]

export function stageOf(name: (typeof stages)[number]['name']): Stage {
  const [stage] = stages.filter((each) => each.name === name)
  if (stage === undefined) throw new Error(`there is no stage ${name}`)
  return stage
}

/** The colour of a stage; its name is shown beside it. */
export function StageSwatch({ tone }: Pick<Stage, 'tone'>) {
  return <i class={`stage ${tone}`} aria-hidden="true" />
}

/** Names with their values; undefined ones are left out. */
export function FactList({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[]
}) {
  return (
    <dl class="fact-list">
      {facts
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** The number of characters shown in one line. */
const usual_characters = 120

/**
 * A stored text of a client, as plain text: cut if it is long, and isolated from its surroundings in either writing direction.
 */
export function StoredText({ text, most = usual_characters }: { readonly text: string; readonly most?: number }) {
  const isLong = text.length > most
  return (
    <bdi class="stored" title={isLong ? `${text.slice(0, 1000)} (${text.length} characters)` : undefined}>
      {isLong ? `${text.slice(0, most)}…` : text}
    </bdi>
  )
}

/** A date of a response as its distance from now; a dash if there is none. */
export function OptionalTime({ date }: { readonly date: string | undefined }) {
  if (date === undefined) return <span class="quiet">–</span>
  return <RelativeTime at_ms={Date.parse(date)} />
}

/** A moment as its distance from now, with the exact time in its title. */
export function RelativeTime({ at_ms }: { readonly at_ms: number }) {
  const now_ms = useClock()
  const away_s = (now_ms - at_ms) / 1000
  const text = Math.abs(away_s) < 1 ? 'now' : away_s > 0 ? `${spanText(away_s)} ago` : `in ${spanText(-away_s)}`
  return (
    <time dateTime={exactText(at_ms)} title={exactText(at_ms)}>
      {text}
    </time>
  )
}

/** A link from a flag to its reference, in another tab, since only this one has the token. */
export function FlagLink({ flag }: { readonly flag: string }) {
  return (
    <a href={`/docs/flags#${flag.slice(1)}`} target="_blank" rel="noopener" title="Its entry in the reference">
      <code class="flag">{flag}</code>
    </a>
  )
}

/** Content that may be wider than the page and scrolls by itself, also by keyboard. */
export function ScrollRegion({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without the focus nothing in it could be reached by keyboard [WCAG 2.1.1].
    <section class="wide" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
