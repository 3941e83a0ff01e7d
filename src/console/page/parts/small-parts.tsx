import type { ComponentChildren } from 'preact'

/** What a state means for the reader; each has a sign of its own, since a colour alone tells too little. */
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

/** A share from 0 to 1 as a bar behind its text. */
export function Bar({
  share,
  text,
  tone = 'plain',
}: {
  readonly share: number
  readonly text: string
  readonly tone?: Tone
}) {
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
