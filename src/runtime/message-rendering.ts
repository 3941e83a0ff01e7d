import { Expressions } from '../expression/expressions.js'
import { renderNotice } from '../ngsi1/render/notifications.js'
import type { RendererParts } from '../ngsi2/render/notification-message.js'
import type { NotificationOptions } from '../options.js'
import { expressions_MiB } from './memory-needed.js'

/** Whether the templates of custom notifications are filled in, and how long a result in them may be. */
export type TemplateSettings = Pick<RendererParts, 'fillsIn' | 'max_bytes'>

export function templateSettings({ customDisabled, forwardMaxSize }: NotificationOptions): TemplateSettings {
  return { fillsIn: !customDisabled, max_bytes: forwardMaxSize }
}

/** What the messages of a thread are rendered with, by expressions of its own. */
export function renderingParts(settings: TemplateSettings): RendererParts {
  return { ...settings, expressions: new Expressions(expressions_MiB * 2 ** 20), word: renderNotice }
}
