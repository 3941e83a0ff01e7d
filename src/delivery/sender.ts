import { HttpSender, type HttpSettings } from './http-sender.js'
import { MqttSender, type MqttSettings } from './mqtt-sender.js'
import type { AttemptOutcome, Outgoing } from './outgoing.js'

export interface SenderSettings {
  readonly http: HttpSettings
  readonly mqtt: MqttSettings
}

/** Sends messages, those of each kind by a sender of its own. */
export class Sender {
  readonly #http: HttpSender
  readonly #mqtt: MqttSender

  constructor({ http, mqtt }: SenderSettings) {
    this.#http = new HttpSender(http)
    this.#mqtt = new MqttSender(mqtt)
  }

  /** One attempt to deliver a message. */
  send(outgoing: Outgoing): Promise<AttemptOutcome> {
    return outgoing.kind === 'http' ? this.#http.send(outgoing) : this.#mqtt.send(outgoing)
  }

  /** Gives up what is under way and closes all connections. */
  close(): void {
    this.#http.close()
    this.#mqtt.close()
  }
}
