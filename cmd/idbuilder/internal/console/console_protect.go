// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"net/http"
)

// contentPolicy lets pages load files of this origin only, and use nothing inline.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect sets the headers of every answer, and refuses requests from other sites.
//
// The Referrer-Policy is same-origin rather than no-referrer: with no-referrer, browsers
// send `Origin: null` with forms, which over plain HTTP would look like another site's.
func (c *Console) protect(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.options.Logger.Warn("console: refused a request that another site made", "origin", r.Header.Get("Origin"), "remote", r.RemoteAddr)
		http.Error(w, "This request came from another site, and is refused.", http.StatusForbidden)
	}))
	guarded := cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		ctx, cancel := context.WithTimeout(r.Context(), c.options.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		guarded.ServeHTTP(w, r)
	})
}

// maxBody bounds the body of a request, in bytes.
const maxBody = 256 << 10
