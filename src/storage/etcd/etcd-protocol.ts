import type { GrpcObject, MethodDefinition } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'

/*
 * What is used of etcd's protocol, version 3: cut from `rpc.proto`, `kv.proto` and `auth.proto` of etcd, copyright The etcd
 * Authors, Apache License 2.0. Enumerations are declared as the numbers that they are on the wire: the loader would send a
 * name that it does not know as 0, without an error.
 */

/** Results and targets of comparisons. */
export const compareEqual = 0
export const compareVersion = 0
export const compareRevision = 2
export const compareValue = 3

/** Kinds of events. */
export const eventDelete = 1

export interface KeyValue {
  readonly key: Buffer
  readonly value: Buffer
  /** The revision at which it was put. */
  readonly modRevision: number
  /** The lease with which the key is removed; 0 for none. */
  readonly lease: number
}

export interface Header {
  readonly revision: number
}

export interface RangeRequest {
  readonly key: string
  readonly rangeEnd?: string
  readonly limit?: number
  readonly keysOnly?: boolean
}

export interface RangeResponse {
  readonly header: Header
  readonly kvs: readonly KeyValue[]
}

/** A key with a lease is removed when the lease ends. */
export interface PutRequest {
  readonly key: string
  readonly value: Uint8Array
  readonly lease?: number
}

export interface DeleteRequest {
  readonly key: string
  readonly rangeEnd?: string
}

/** Exactly one of its members is present. */
export interface RequestOp {
  readonly requestRange?: RangeRequest
  readonly requestPut?: PutRequest
  readonly requestDeleteRange?: DeleteRequest
  readonly requestTxn?: TxnRequest
}

export interface Compare {
  readonly result: typeof compareEqual
  readonly target: typeof compareVersion | typeof compareRevision | typeof compareValue
  readonly key: string
  readonly version?: number
  readonly modRevision?: number
  readonly value?: Uint8Array
}

export interface TxnRequest {
  readonly compare: readonly Compare[]
  readonly success: readonly RequestOp[]
  readonly failure: readonly RequestOp[]
}

export interface ResponseOp {
  readonly responseRange?: RangeResponse
  readonly responseTxn?: TxnResponse
}

export interface TxnResponse {
  readonly header: Header
  readonly succeeded: boolean
  readonly responses: readonly ResponseOp[]
}

export interface StatusResponse {
  readonly header: Header
  readonly version: string
  readonly dbSize: number
  readonly leader: number
}

/** The client chooses the ID, so that it is a safe integer in JavaScript. */
export interface LeaseRequest {
  readonly ID: number
  readonly TTL?: number
}

/** A TTL of 0, or -1 in the response to a TTL request, means that the lease does not exist any more. */
export interface LeaseResponse {
  readonly header: Header
  readonly TTL: number
}

/** The list by one member, which may have lost the others. */
export interface MemberListResponse {
  readonly header: Header
  readonly members: readonly { readonly clientURLs: readonly string[]; readonly peerURLs: readonly string[] }[]
}

export interface WatchRequest {
  readonly createRequest: { readonly key: string; readonly rangeEnd: string; readonly startRevision: number }
}

export interface WatchResponse {
  readonly header: Header
  readonly canceled: boolean
  readonly cancelReason: string
  readonly events: readonly { readonly type: number; readonly kv: KeyValue }[]
}

/** The unary calls, with request and response. */
export interface Calls {
  readonly range: (request: RangeRequest) => RangeResponse
  readonly txn: (request: TxnRequest) => TxnResponse
  readonly compact: (request: { readonly revision: number }) => { readonly header: Header }
  readonly status: (request: Record<string, never>) => StatusResponse
  readonly memberList: (request: Record<string, never>) => MemberListResponse
  readonly authenticate: (request: { readonly name: string; readonly password: string }) => { readonly token: string }
  readonly leaseGrant: (request: LeaseRequest) => LeaseResponse
  readonly leaseRevoke: (request: LeaseRequest) => { readonly header: Header }
  readonly leaseTimeToLive: (request: LeaseRequest) => LeaseResponse
}

/** The streams, with their outgoing and incoming messages. */
export interface EtcdStreams {
  readonly watch: (request: WatchRequest) => WatchResponse
  readonly leaseKeepAlive: (request: LeaseRequest) => LeaseResponse
}

type Method = MethodDefinition<object, object>

type Field = readonly [type: string, id: number, rule?: 'repeated']

/** The codecs of the calls. */
export function methods(): Readonly<Record<keyof Calls | keyof EtcdStreams, Method>> {
  const loaded = fromJSON(
    { nested: { etcdserverpb: { nested: { ...messages(), ...services } } } },
    { longs: Number, defaults: true, arrays: true },
  )
  const method = (service: string, name: string): Method => {
    const found: unknown = loaded[`etcdserverpb.${service}`]
    const definition = (found as GrpcObject | undefined)?.[name] as unknown as Method | undefined
    if (definition === undefined) throw new Error(`${service}.${name} is not in the protocol`)
    return definition
  }
  return {
    range: method('KV', 'Range'),
    txn: method('KV', 'Txn'),
    compact: method('KV', 'Compact'),
    status: method('Maintenance', 'Status'),
    memberList: method('Cluster', 'MemberList'),
    authenticate: method('Auth', 'Authenticate'),
    leaseGrant: method('Lease', 'LeaseGrant'),
    leaseRevoke: method('Lease', 'LeaseRevoke'),
    leaseTimeToLive: method('Lease', 'LeaseTimeToLive'),
    leaseKeepAlive: method('Lease', 'LeaseKeepAlive'),
    watch: method('Watch', 'Watch'),
  }
}

const fieldsOf: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  ResponseHeader: { revision: ['int64', 3] },
  KeyValue: { key: ['bytes', 1], modRevision: ['int64', 3], value: ['bytes', 5], lease: ['int64', 6] },
  RangeRequest: { key: ['string', 1], rangeEnd: ['string', 2], limit: ['int64', 3], keysOnly: ['bool', 8] },
  RangeResponse: { header: ['ResponseHeader', 1], kvs: ['KeyValue', 2, 'repeated'] },
  PutRequest: { key: ['string', 1], value: ['bytes', 2], lease: ['int64', 3] },
  PutResponse: { header: ['ResponseHeader', 1] },
  DeleteRangeRequest: { key: ['string', 1], rangeEnd: ['string', 2] },
  DeleteRangeResponse: { header: ['ResponseHeader', 1] },
  RequestOp: {
    requestRange: ['RangeRequest', 1],
    requestPut: ['PutRequest', 2],
    requestDeleteRange: ['DeleteRangeRequest', 3],
    requestTxn: ['TxnRequest', 4],
  },
  ResponseOp: {
    responseRange: ['RangeResponse', 1],
    responsePut: ['PutResponse', 2],
    responseDeleteRange: ['DeleteRangeResponse', 3],
    responseTxn: ['TxnResponse', 4],
  },
  Compare: {
    result: ['int32', 1],
    target: ['int32', 2],
    key: ['string', 3],
    version: ['int64', 4],
    modRevision: ['int64', 6],
    value: ['bytes', 7],
  },
  TxnRequest: {
    compare: ['Compare', 1, 'repeated'],
    success: ['RequestOp', 2, 'repeated'],
    failure: ['RequestOp', 3, 'repeated'],
  },
  TxnResponse: {
    header: ['ResponseHeader', 1],
    succeeded: ['bool', 2],
    responses: ['ResponseOp', 3, 'repeated'],
  },
  CompactionRequest: { revision: ['int64', 1] },
  CompactionResponse: { header: ['ResponseHeader', 1] },
  StatusRequest: {},
  StatusResponse: {
    header: ['ResponseHeader', 1],
    version: ['string', 2],
    dbSize: ['int64', 3],
    leader: ['uint64', 4],
  },
  Member: { peerURLs: ['string', 3, 'repeated'], clientURLs: ['string', 4, 'repeated'] },
  MemberListRequest: {},
  MemberListResponse: { header: ['ResponseHeader', 1], members: ['Member', 2, 'repeated'] },
  AuthenticateRequest: { name: ['string', 1], password: ['string', 2] },
  LeaseGrantRequest: { TTL: ['int64', 1], ID: ['int64', 2] },
  LeaseGrantResponse: { header: ['ResponseHeader', 1], TTL: ['int64', 3] },
  LeaseRevokeRequest: { ID: ['int64', 1] },
  LeaseRevokeResponse: { header: ['ResponseHeader', 1] },
  LeaseTimeToLiveRequest: { ID: ['int64', 1] },
  LeaseTimeToLiveResponse: { header: ['ResponseHeader', 1], TTL: ['int64', 3] },
  LeaseKeepAliveRequest: { ID: ['int64', 1] },
  LeaseKeepAliveResponse: { header: ['ResponseHeader', 1], TTL: ['int64', 3] },
  WatchCreateRequest: { key: ['string', 1], rangeEnd: ['string', 2], startRevision: ['int64', 3] },
  WatchRequest: { createRequest: ['WatchCreateRequest', 1] },
  WatchResponse: {
    header: ['ResponseHeader', 1],
    canceled: ['bool', 4],
    cancelReason: ['string', 6],
    events: ['Event', 11, 'repeated'],
  },
  Event: { type: ['int32', 1], kv: ['KeyValue', 2] },
  AuthenticateResponse: { header: ['ResponseHeader', 1], token: ['string', 2] },
}

/** Members of which one is given: that each is known to be there or not, and a value of 0 is sent. */
const alternatives: Readonly<Record<string, readonly string[]>> = {
  RequestOp: ['requestRange', 'requestPut', 'requestDeleteRange', 'requestTxn'],
  ResponseOp: ['responseRange', 'responsePut', 'responseDeleteRange', 'responseTxn'],
  Compare: ['version', 'modRevision', 'value'],
  WatchRequest: ['createRequest'],
}

function described(requestType: string, responseType: string, isStream = false) {
  return { requestType, responseType, requestStream: isStream, responseStream: isStream, comment: '' }
}

const services = {
  KV: {
    methods: {
      Range: described('RangeRequest', 'RangeResponse'),
      Txn: described('TxnRequest', 'TxnResponse'),
      Compact: described('CompactionRequest', 'CompactionResponse'),
    },
  },
  Maintenance: { methods: { Status: described('StatusRequest', 'StatusResponse') } },
  Cluster: { methods: { MemberList: described('MemberListRequest', 'MemberListResponse') } },
  Lease: {
    methods: {
      LeaseGrant: described('LeaseGrantRequest', 'LeaseGrantResponse'),
      LeaseRevoke: described('LeaseRevokeRequest', 'LeaseRevokeResponse'),
      LeaseTimeToLive: described('LeaseTimeToLiveRequest', 'LeaseTimeToLiveResponse'),
      LeaseKeepAlive: described('LeaseKeepAliveRequest', 'LeaseKeepAliveResponse', true),
    },
  },
  Watch: { methods: { Watch: described('WatchRequest', 'WatchResponse', true) } },
  Auth: { methods: { Authenticate: described('AuthenticateRequest', 'AuthenticateResponse') } },
}

function messages() {
  return Object.fromEntries(
    Object.entries(fieldsOf).map(([message, fields]) => {
      const oneof = alternatives[message]
      const declared = Object.entries(fields).map(([name, [type, id, rule]]) => [
        name,
        rule === undefined ? { type, id } : { type, id, rule },
      ])
      const type = { fields: Object.fromEntries(declared) }
      return [message, oneof === undefined ? type : { ...type, oneofs: { kind: { oneof: [...oneof] } } }]
    }),
  )
}
