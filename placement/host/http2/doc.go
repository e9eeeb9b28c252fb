// SPDX-License-Identifier: Apache-2.0

// Package http2 carries the calls of a cluster of [host.Host] over HTTP/2, with
// nothing but the standard library.
//
//	transport, err := http2.Listen("10.0.0.7:7400", http2.Options{})
//	h, err := host.New(db, host.Options{Name: "bank-1", Transport: transport})
//
// Without certificates it speaks HTTP/2 in the clear, with prior knowledge: for a
// network that no other process can reach, since a process that reaches the transport can call every
// method. With [Options.ServerTLS] and [Options.ClientTLS] it speaks TLS; let the server
// require certificates of clients (tls.RequireAndVerifyClientCert).
//
// # What is sent
//
// A request is a POST to /placement/v1/call, its answer has the status 200. The
// bodies have the media type application/vnd.kazahana.placement.v1: the
// length of a head as an unsigned varint, the head in JSON, and the payload in the codec of
// the hosts up to the end. The head of a request has, besides the fields of [host.Request], the time that is left
// until the caller's deadline in nanoseconds: no clocks are compared. A caller that
// leaves resets the stream, which ends the handler's context.
//
// Only where no connection could be made is it certain that a request was not
// sent. Answers of anything else than this package, proxies for example, leave the
// outcome unknown.
package http2
