// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Policy is the Content-Security-Policy of every answer: files of this origin only, nothing
// inline, no frames, no forms.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// MaxBody bounds the body of a request, in bytes.
const MaxBody = 32 << 20

// Protect returns a handler that sets the headers of every answer, exchanges tokens for cookies,
// and refuses what the package's documentation says. Requests without a session reach open, which
// must not reveal anything.
func (g *Guard) Protect(pages, open http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if !knowsHost(r.Host, g.hosts) {
			http.Error(w, "This server is not "+r.Host+". Open the link as it was printed; a server at another address must be told its name.", http.StatusMisdirectedRequest)
			return
		}
		if r.Method == http.MethodGet && r.URL.Query().Has(tokenParameter) && g.exchange(w, r) {
			return
		}
		if !g.Has(r) {
			open.ServeHTTP(w, r)
			return
		}
		if why := refusal(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		pages.ServeHTTP(w, r)
	})
}

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// entrance is the page that leads to the address without the token. A redirect by its status would
// belong to the navigation of the program or site in which the user followed the link, to which
// browsers send no cookie that is SameSite=Strict; a page of this server begins one of its own.
const entrance = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=ADDRESS"><title>Kazahana</title><p><a href="ADDRESS">Go on</a></p></html>`

// exchange answers a request with the right token: it sets the cookie, and leads to the address
// without the token. It reports whether it has answered.
func (g *Guard) exchange(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if !equal(query.Get(tokenParameter), g.token) {
		return false
	}
	query.Del(tokenParameter)
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.session, Path: g.prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	// Relative to the directory of the page, so that it holds below any prefix.
	clean := url.URL{Path: "./" + r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], RawQuery: query.Encode()}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, strings.ReplaceAll(entrance, "ADDRESS", html.EscapeString(clean.String()))) // the browser has gone
	return true
}

// refusal returns why a request is refused: one that may change something, or one to the API from a
// page of another origin; "" if it is not.
func refusal(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if strings.Contains(r.URL.Path, "/api/") && !ownSite(r, "none") {
			return "This request came from another page; it is refused."
		}
		return ""
	}
	if !ownOrigin(r) {
		return "This request came from another site, or does not say from where; it is refused."
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return "The body of a request that changes something must be application/json."
	}
	return ""
}

// CheckOpen returns why a server of programs, which asks for no token, refuses a request. A
// request to a loopback address must name it, or one of hosts (host:port): a page of another site
// sends its own name, even if that name was pointed at 127.0.0.1. A request that a browser marks as that of
// a page of another origin is refused at every address. Programs send no such marks.
func CheckOpen(r *http.Request, hosts []string) error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if local != nil && local.IP.IsLoopback() && !knowsHost(r.Host, hosts) {
		return fmt.Errorf("the request came to this machine's loopback interface under the name %q; a server behind a proxy on this machine must be told this name", r.Host)
	}
	if r.Header.Get("Origin") != "" && !ownOrigin(r) || !ownSite(r, "none") {
		return errors.New("the request came from a page of another site")
	}
	return nil
}

// ProtectOpen returns a handler that answers with 403 what [CheckOpen] refuses.
func ProtectOpen(h http.Handler, hosts []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := CheckOpen(r, hosts); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// ownOrigin reports whether a request says that it comes from the origin it is sent to.
func ownOrigin(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || origin.Scheme != "http" && origin.Scheme != "https" || origin.Host != r.Host {
		return false
	}
	return ownSite(r)
}

// ownSite reports whether a browser says that a request comes from a page of this origin, or what
// also permits, or says nothing.
func ownSite(r *http.Request, also ...string) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || slices.Contains(also, site)
}
