// SPDX-License-Identifier: Apache-2.0

// Package http carries leases over HTTP: a handler that serves any provider, and
// the client, which is a provider again. Import it under the name leasehttp.
//
//	handler, err := leasehttp.NewHandler(server, leasehttp.HandlerOptions{
//		Tokens: []leasehttp.Token{{Name: "orders", Secret: token, Services: []string{"orders"}}},
//	})
//	if err != nil {
//		return err
//	}
//	srv := leasehttp.NewServer(handler) // an http.Server with timeouts
//	srv.Addr = ":8443"
//	err = srv.ListenAndServeTLS("cert.pem", "key.pem")
//
// and on the other side
//
//	provider, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: "https://id.example.com", Token: token})
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: provider, ServiceID: "orders"})
//
// # Protocol
//
// It is that of the specification's section 7.1, with JSON bodies:
//
//	POST   /lease       {"serviceId", "meta", "throughputPerMs", "requestKey"} → {"leases": […]}
//	DELETE /lease/{id}  {"serviceId", "bitSeq", "created", "lastTs", "timestamp", "signature"} → no content
//	GET    /leases?serviceId=&after=&limit=&ended= → {"leases": […], "next"}, without secrets
//	GET    /services?after=&limit= → {"services": […], "next"}
//
// A release may be the specification's own, {"signature", "timestamp"}, signed over
// "<id>:<timestamp>". It may lack the service: the handler then asks each service that
// the token may lease for, and the signature tells which lease is meant. For that the
// provider has to list its services; otherwise it asks the services
// of the token, or the default service. Services without the lease refuse the call, and
// a provider that logs or counts calls shows that: a client that can name its service
// should. The client sends this form to a server that refuses the longer one with an
// answer of another protocol, and takes each status from 200 to 299 as success.
//
// Errors are problem details (RFC 9457) with a member "code" that never changes its
// meaning; the client makes them into the errors of package lease again, for
// [errors.Is] and [errors.As]. Nothing may be cached.
//
// # Security
//
// An answer to POST /lease has secrets in it: serve it by TLS. The client sends
// no token over plain HTTP unless told so, and never follows a redirect. Tokens
// are compared in constant time. A handler that serves clients without a token
// refuses requests of other sites' pages in a browser ([HandlerOptions.Hosts]). What one token may take is bounded per request
// and in total ([Token]); bodies, answers and times are bounded, too.
//
// Everything in this package is safe for concurrent use.
package http
