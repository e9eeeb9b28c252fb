// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"time"
)

func (v *visit) refuseLogin(status int, fault string) error {
	return v.render(status, page{Name: "login", Title: "Log in", Data: loginPage{Next: v.console.nextPage(v.PostFormValue("next")), Fault: fault}})
}

// endSession ends the session of the browser's cookie, if there is one.
func (v *visit) endSession() error {
	cookie, err := v.Cookie(cookieName)
	if err != nil {
		return nil
	}
	id, err := parseSecret(cookie.Value)
	if err != nil {
		return nil
	}
	return v.console.sessions.endSession(v.Context(), id)
}

// setCookie sets the session's cookie. It has no path, so browsers send it to all pages in the
// folder of the login, whatever prefix comes before /admin/.
func (v *visit) setCookie(value string, lifetime time.Duration) {
	http.SetCookie(v.w, &http.Cookie{
		Name: cookieName, Value: value, MaxAge: int(lifetime / time.Second),
		HttpOnly: true, Secure: v.TLS != nil || v.console.options.SecureCookie, SameSite: http.SameSiteStrictMode,
	})
}

// toPage sends the browser to a page with its query.
func (v *visit) toPage(page string) {
	v.w.Header().Set("Location", "./"+page)
	v.w.WriteHeader(http.StatusSeeOther)
}
