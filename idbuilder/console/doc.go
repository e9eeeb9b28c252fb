// SPDX-License-Identifier: Apache-2.0

// Package console serves the admin console of the ID service, at /admin/: keys and
// their configurations, with a preview of the next IDs; tokens; charts of usage;
// live workers. Pages are rendered on the server, and everything but live previews
// and charts works without script.
//
//	w, err := idbuilder.NewWorker(s, idbuilder.Options{
//		Console: func(w *idbuilder.Worker) (http.Handler, error) { return console.New(w, s, console.Options{}) },
//	})
//
// # Sessions
//
// An admin logs in with an admin token. The console needs the token itself
// later, since key tokens are derived from it. So it keeps it, sealed: the browser has a cookie with
// 256 random bits; the store has a document, named by the SHA-256 of these, with the token
// encrypted (AES-256-GCM) by a key that is derived from them (HKDF-SHA-256). Neither the store nor the
// cookie alone yields the token. Any worker serves the session; a
// logout ends it on all of them; so does a reset of the admin token, which is checked with each request.
//
// # Requests from other sites
//
// The cookie is SameSite=Strict, HttpOnly, and Secure under TLS. Besides,
// http.CrossOriginProtection refuses a request that changes something unless the browser says
// that it comes from the console's own origin. Forms need no secret of their own
// for that. The Content-Security-Policy allows scripts, styles and requests of this origin
// alone, none inline, and no page of another site to frame the console.
//
// # Logins
//
// Attempts to log in are limited for each network address: 10 at once, then one in
// 6 seconds.
package console
