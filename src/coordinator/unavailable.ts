/** Why the broker can not do now what it could do at another time; every API answers it with 503 [management 11.9]. */
export type Unavailable =
  | { readonly kind: 'mailboxFull' }
  | { readonly kind: 'partitionLost' }
  | { readonly kind: 'storageFull' }
  | { readonly kind: 'queriesFull' }
  | { readonly kind: 'queryLate' }
  | { readonly kind: 'forwardsFull' }
