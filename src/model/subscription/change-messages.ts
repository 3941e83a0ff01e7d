import type { StepBudget } from '../context/step-budget.js'
import type { Cause, Change } from './change.js'
import { type BodilessMessage, bodyTermsOf, type MessageRenderer, type NoticeMessage } from './message.js'
import type { Notice } from './notice.js'
import type { StepShare } from './step-share.js'
import type { Subscription } from './subscription.js'

/** Once the long bodies of a change, with the head of each, exceed this many characters, the rest are rendered when they are sent. */
const mostCharacters = 2 ** 16

/** The characters of long bodies, on average: shorter ones are stored as fast as what it takes to render them. */
const longFrom = 2 ** 10

/** The characters of what each notice repeats of the request that has caused it, unless it is stored once for several. */
export function headCharacters({ correlator, token, via = '' }: Cause['origin']): number {
  return correlator.length + token.length + via.length
}

/** The messages of one change. Each head is rendered once. */
export class ChangeMessages {
  /** Those whose bodies are rendered later. */
  readonly later: BodilessMessage[] = []
  /** The steps of a body that is rendered later. */
  readonly steps: number
  readonly #renderer: MessageRenderer
  readonly #change: Change
  readonly #cause: Cause
  readonly #share: StepShare
  #last: { readonly of: Subscription; readonly head: NoticeMessage | undefined } | undefined
  #rendered = 0
  #characters = 0

  constructor(renderer: MessageRenderer, change: Change, cause: Cause, share: StepShare) {
    this.#renderer = renderer
    this.#change = change
    this.#cause = cause
    this.#share = share
    this.steps = share.bodySteps
  }

  /** The message beside its body; undefined when it would show nothing. */
  head(subscription: Subscription): NoticeMessage | undefined {
    if (this.#last?.of === subscription) return this.#last.head
    const head = this.#renderer.head(subscription, this.#change, this.#cause, this.#share.budget())
    this.#last = { of: subscription, head }
    return head
  }

  /** Whether the bodies of this change are so long, or have taken so long, that a turn should not render more of them. */
  get #areLong(): boolean {
    return this.#share.isTurnOver || this.#characters > Math.max(mostCharacters, this.#rendered * longFrom)
  }

  /** As `whole`; undefined for a body that takes more steps than the turn has left for it, and has to be rendered later. */
  wholeInTurn(subscription: Subscription, message: NoticeMessage): Pick<Notice, 'body' | 'message'> | undefined {
    if (this.#areLong) return undefined
    const rendered = this.#rendering(subscription, message, () => this.#share.bodyBudgetInTurn())
    return this.#share.needsMore ? undefined : rendered
  }

  /** The message with its body, rendered now; one that cannot be delivered has an empty body, and says why. */
  whole(subscription: Subscription, message: NoticeMessage): Pick<Notice, 'body' | 'message'> {
    return this.#rendering(subscription, message, () => this.#share.bodyBudget())
  }

  #rendering(
    subscription: Subscription,
    message: NoticeMessage,
    budget: () => StepBudget,
  ): Pick<Notice, 'body' | 'message'> {
    if (message.undeliverable !== undefined) return { message, body: '' }
    const body = this.#renderer.body(bodyTermsOf(subscription), this.#change, this.#cause, budget())
    if (!body.ok) return { message: { undeliverable: body.error }, body: '' }
    this.#rendered += 1
    this.#characters += body.value.length + headCharacters(this.#cause.origin)
    return { message, body: body.value }
  }
}
