// SPDX-License-Identifier: Apache-2.0

// Package console serves the admin console of the ID service, at /admin/: keys and
// their configurations, with a preview of the next IDs; tokens; charts of usage;
// live workers. Pages are rendered on the server; only live previews and charts need
// JavaScript.
//
//	w, err := worker.New(s, o, worker.Hooks{
//		Console: func(w *worker.Worker) (http.Handler, error) { return console.New(w, s, console.Options{}) },
//	})
//
// # Sessions
//
// An admin logs in with an admin token. The console needs the token itself later, since key tokens
// are derived from it. So it keeps the token encrypted: the browser has a cookie with 256 random
// bits; the store has a document, named by the SHA-256 of these bits, with the token encrypted
// (AES-256-GCM) by a key that is derived from them (HKDF-SHA-256). Neither the store nor the cookie
// alone reveals the token. Any worker serves the session. A logout ends it on all of them; so does a
// reset of the admin token, which is checked with each request.
//
// # Requests from other sites
//
// The cookie is SameSite=Strict, HttpOnly, and Secure under TLS. In addition,
// http.CrossOriginProtection refuses a request that changes something unless the browser says
// that it comes from the console's own origin, so forms need no secret of their own.
// The Content-Security-Policy allows scripts, styles and requests of this origin only, none
// inline, and forbids pages of other sites to frame the console.
//
// # Logins
//
// Attempts to log in are limited for each network address: 10 at once, then one in
// 6 seconds.
package console
