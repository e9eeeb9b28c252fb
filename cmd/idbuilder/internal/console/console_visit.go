// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
)

// publicHandler serves a request that needs no session.
func (c *Console) publicHandler(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, Request: r, console: c}
		v.serve(serve)
	}
}

// withSession serves requests that have a session, and redirects all others to the
// login.
func (c *Console) withSession(route route) http.HandlerFunc {
	return c.publicHandler(func(v *visit) error {
		err := v.readSession()
		if !errors.Is(err, errNoSession) {
			if err != nil {
				return err
			}
			return route.serve(v)
		}
		if route.fragment {
			http.Error(v.w, "The session has ended; log in again.", http.StatusUnauthorized)
			return nil
		}
		v.redirect("login", loginQuery(v.Request))
		return nil
	})
}
