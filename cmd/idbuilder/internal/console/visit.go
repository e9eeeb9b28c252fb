// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// visit is a request that the console serves.
type visit struct {
	w http.ResponseWriter
	*http.Request
	console *Console
	id      secret
	admin   string // the admin token of the session; "" without one
}

var errNotFound = &api.Error{Code: api.NotFound, Message: "There is no such page."}

// loginQuery remembers where to go after the login.
func loginQuery(r *http.Request) url.Values {
	page := r.URL.Path[len("/admin/"):]
	if page == "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	if r.URL.RawQuery != "" {
		page += "?" + r.URL.RawQuery
	}
	return url.Values{"next": {page}}
}

// readSession finds the session, and checks that its token is still an admin token.
func (v *visit) readSession() error {
	cookie, err := v.Cookie(cookieName)
	if err != nil {
		return errNoSession
	}
	if v.id, err = parseSecret(cookie.Value); err != nil {
		return err
	}
	admin, err := v.console.sessions.adminToken(v.Context(), v.id)
	if err != nil {
		return err
	}
	identity, err := v.console.worker.Tokens().Check(v.Context(), admin)
	if errors.Is(err, token.ErrInvalid) || errors.Is(err, token.ErrExpired) || err == nil && !identity.Admin {
		return errNoSession
	}
	v.admin = admin
	return err
}

// serve serves the request. It shows an error on a page of its own.
func (v *visit) serve(serve func(*visit) error) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			v.console.options.Logger.Error("console: panic", "panic", p, "stack", string(debug.Stack()))
			v.sendError(api.Errorf(api.Internal, "Internal error; the log says more."))
		}
	}()
	if err := serve(v); err != nil {
		v.sendError(err)
	}
}

func (v *visit) sendError(err error) {
	e := v.console.worker.APIError(err)
	if e.HTTPStatus() >= http.StatusInternalServerError {
		v.console.options.Logger.Error("console: a request failed", "method", v.Method, "page", v.URL.Path, "error", err)
	}
	if v.admin == "" && e != errNotFound && e.Code != api.Unavailable {
		e = api.Errorf(e.Code, "Internal error; the log says more.")
	}
	v.render(e.HTTPStatus(), page{Name: "error", Title: http.StatusText(e.HTTPStatus()), Data: sentence(e.Message)})
}

// redirect sends the browser to a page of the console. The address is relative, since
// a prefix may come before /admin/.
func (v *visit) redirect(page string, query url.Values) {
	if len(query) > 0 {
		page += "?" + query.Encode()
	}
	v.w.Header().Set("Location", "./"+page)
	v.w.WriteHeader(http.StatusSeeOther)
}

// logAction logs an action of an admin.
func (v *visit) logAction(what, key string) {
	v.console.options.Logger.LogAttrs(v.Context(), slog.LevelInfo, "console: "+what, slog.String("key", key), slog.String("remote", v.RemoteAddr))
}
