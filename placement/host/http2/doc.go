// SPDX-License-Identifier: Apache-2.0

// Package http2 carries the calls of a cluster of [host.Host] over HTTP/2, with
// nothing but the standard library.
//
//	transport, err := http2.Listen("10.0.0.7:7400", http2.Options{})
//	h, err := host.New(db, host.Options{Name: "bank-1", Transport: transport})
//
// Without certificates it speaks HTTP/2 in the clear, with prior knowledge: for a
// network that no other process can reach, since a process that reaches the
// transport can call every method. With [Options.ServerTLS] and [Options.ClientTLS]
// it speaks TLS, and the server must verify the certificates of callers
// (tls.RequireAndVerifyClientCert).
//
// # Protocol
//
// A request is a POST to /placement/v1/call; its answer has the status 200. The
// bodies have the media type application/vnd.kazahana.placement.v1: the length of a
// head as an unsigned varint, the head in JSON, and the payload in the codec of the
// hosts up to the end. The head of a request has, besides the fields of
// [host.Request], the time that is left until the caller's deadline in nanoseconds:
// no clocks are compared. A caller that leaves resets the stream, which ends the
// handler's context.
//
// A request was certainly not sent only if no connection could be made. After an
// answer that is not of this package, such as a proxy's, the outcome is unknown.
package http2
