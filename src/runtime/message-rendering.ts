import { renderNotice } from '../api/ngsi1/render/elements.js'
import { ChangeViews } from '../api/ngsi2/render/change-view.js'
import { conditionEvaluator, messageRenderer, type RendererParts } from '../api/ngsi2/render/notification-message.js'
import type { NotificationOptions } from '../flags/settings.js'
import { Expressions } from '../model/expression/expressions.js'
import { Matcher } from '../model/subscription/matcher.js'
import type { Log } from '../observe/log/log.js'
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
