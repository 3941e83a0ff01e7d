import type { NotificationOptions } from '../command-line/settings.js'
import { Expressions } from '../expression/expressions.js'
import type { Log } from '../log/log.js'
import { renderNotice } from '../ngsi1/render/elements.js'
import { ChangeViews } from '../ngsi2/render/change-view.js'
import { conditionEvaluator, messageRenderer, type RendererParts } from '../ngsi2/render/notification-message.js'
import { Matcher } from '../subscription/matcher.js'
import { expressions_MiB } from './memory-needed.js'

/** Whether the templates of custom notifications are filled in, and how long a result in them may be. */
export type TemplateSettings = Pick<RendererParts, 'fillsIn' | 'max_bytes'>

export function templateSettings({ customDisabled, forwardMaxSize }: NotificationOptions): TemplateSettings {
  return { fillsIn: !customDisabled, max_bytes: forwardMaxSize }
}

/** What the messages of a thread are rendered with, by expressions of its own. */
export function renderingParts(settings: TemplateSettings): RendererParts {
  const expressions = new Expressions(expressions_MiB * 2 ** 20)
  return { ...settings, expressions, views: new ChangeViews(), word: renderNotice }
}

/**
 * Makes matchers like that of a partition, which remember as many bytes of what patterns find; they share what they render
 * with, which is made when it is needed first.
 */
export function matcherMaker(settings: TemplateSettings, log: Log, memory_bytes = 0): () => Matcher {
  let made: RendererParts | undefined
  return () => {
    made ??= renderingParts(settings)
    return new Matcher({
      ...{ word: renderNotice, message: messageRenderer(made), holds: conditionEvaluator(made) },
      ...{ expressions: made.expressions, log, memory_bytes },
    })
  }
}
