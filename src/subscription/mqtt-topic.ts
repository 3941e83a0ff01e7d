const maxTopic_bytes = 65_535

/** Whether something can be published to a topic: it is no pattern, and MQTT can tell its length [NGSIv2 subscriptions 2.5, 7.1]. */
export function isTopic(topic: string): boolean {
  return topic !== '' && !/[+#\0]/.test(topic) && Buffer.byteLength(topic) <= maxTopic_bytes
}
