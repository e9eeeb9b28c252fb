// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"strings"
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
		HttpOnly: true, Secure: v.isSecure(), SameSite: http.SameSiteStrictMode,
	})
}

// isSecure reports whether the browser reaches the console by TLS: here, at a proxy that says so, or
// as the options say. The header is the proxy's or the browser's own: it cannot make the cookie of
// another browser less secure.
func (v *visit) isSecure() bool {
	return v.TLS != nil || v.console.options.SecureCookie || strings.EqualFold(v.Header.Get("X-Forwarded-Proto"), "https")
}

// toPage sends the browser to a page with its query.
func (v *visit) toPage(page string) {
	v.w.Header().Set("Location", "./"+page)
	v.w.WriteHeader(http.StatusSeeOther)
}
