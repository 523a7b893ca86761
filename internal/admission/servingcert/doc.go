// Package servingcert keeps a TLS server's certificate: one of its own making,
// whose authority it tells to a webhook configuration, or one from files.
//
// Own certificates are in one Secret, which all replicas share. The API's
// optimistic locking makes them agree: who comes second takes what the first
// wrote. An authority is replaced in two steps, so that no client ever meets a
// certificate whose authority it doesn't know yet: first it is told beside the
// old one, and later it signs.
package servingcert
