import { renderNotice } from '../api/ngsi1/render/elements.js'
import { ChangeViews } from '../api/ngsi2/render/change-view.js'
import { conditionEvaluator, messageRenderer, type RendererParts } from '../api/ngsi2/render/notification-message.js'
import type { NotificationOptions } from '../flags/settings.js'
import { Expressions } from '../model/expression/expressions.js'
import { Matcher } from '../model/subscription/matcher.js'
import type { Log } from '../observe/log/log.js'
import { expressions_MiB } from './resources/memory-needed.js'

/** Whether templates of custom notifications are filled in, and the most bytes of their result. */
export type TemplateSettings = Pick<RendererParts, 'fillsIn' | 'max_bytes'>

export function templateSettings({ customDisabled, forwardMaxSize }: NotificationOptions): TemplateSettings {
  return { fillsIn: !customDisabled, max_bytes: forwardMaxSize }
}

/** The parts that render the messages of one thread, with its own cache of expressions. */
export function renderingParts(settings: TemplateSettings): RendererParts {
  const expressions = new Expressions(expressions_MiB * 2 ** 20)
  return { ...settings, expressions, views: new ChangeViews(), legacyBody: renderNotice }
}

/**
 * Makes matchers like that of a partition, each with a cache of this many bytes for results of patterns. They share the
 * rendering parts, which are made at first use.
 */
export function matcherMaker(settings: TemplateSettings, log: Log, memory_bytes = 0): () => Matcher {
  let made: RendererParts | undefined
  return () => {
    made ??= renderingParts(settings)
    return new Matcher({
      ...{ legacyBody: renderNotice, message: messageRenderer(made), holds: conditionEvaluator(made) },
      ...{ expressions: made.expressions, log, memory_bytes },
    })
  }
}
