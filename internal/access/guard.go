// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Guard lets requests pass that belong to a session. It is safe for concurrent use.
type Guard struct {
	token, session string
	cookie         string // the cookie's name
	hosts          []string
}

// New returns a guard with a session of its own.
func New(o Options) (*Guard, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g := &Guard{token: o.Token, session: NewToken(), hosts: o.Hosts}
	name := sha256.Sum256([]byte("name of " + g.session))
	g.cookie = "kazahana_ui_" + hex.EncodeToString(name[:4])
	return g, nil
}

// NewToken returns 256 random bits, as text that a URL may have.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// tokenParameter is the parameter of the link.
const tokenParameter = "token"

// Link returns the address that opens a session. Base is that of the pages, with a slash at its end.
func (g *Guard) Link(base string) string { return base + "?" + tokenParameter + "=" + g.token }

// Has reports whether a request has the cookie of the session.
func (g *Guard) Has(r *http.Request) bool {
	for _, c := range r.CookiesNamed(g.cookie) {
		if equal(c.Value, g.session) {
			return true
		}
	}
	return false
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// knowsHost reports whether a Host is one of a server on this machine, which other machines
// know by the names of hosts.
func knowsHost(host string, hosts []string) bool {
	if slices.ContainsFunc(hosts, func(known string) bool { return strings.EqualFold(known, host) }) {
		return true
	}
	name, port, err := net.SplitHostPort(host)
	if inside, ok := strings.CutPrefix(host, "["); err != nil && ok {
		name, ok = strings.CutSuffix(inside, "]") // an IPv6 address without a port
		if !ok {
			return false
		}
	} else if err != nil {
		name = host
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// KeepOrigin is the CheckRedirect of [http.Client] for programs that send a token. It follows
// redirects within the origin of the first request, that is with its scheme, host and port, and
// with its method. Any other redirect is the answer:
//
//   - net/http sends the header Authorization along to the same host, even from HTTPS to HTTP, and
//     to its subdomains, even at another port. The token is for the server that the program named.
//   - A request that changes something would become one that reads, and the answer to that would
//     look like success.
func KeepOrigin(r *http.Request, via []*http.Request) error {
	first := via[0]
	if r.Method != first.Method || r.URL.Scheme != first.URL.Scheme || !strings.EqualFold(r.URL.Host, first.URL.Host) || len(via) >= 10 {
		return http.ErrUseLastResponse
	}
	return nil
}

// RedirectOrigin returns the origin to which an answer redirects, without its path and query, which
// may have secrets; "" if it does not redirect.
func RedirectOrigin(answer *http.Response) string {
	to, err := answer.Location()
	if answer.StatusCode < 300 || answer.StatusCode > 399 || err != nil {
		return ""
	}
	return to.Scheme + "://" + to.Host
}

// InClear reports whether others on a network could read what is sent to a URL: it is plain HTTP,
// and not to this machine.
func InClear(u *url.URL) bool { return u.Scheme == "http" && !knowsHost(u.Host, nil) }

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
			http.Error(w, misdirected(r), http.StatusMisdirectedRequest)
			return
		}
		if r.Method == http.MethodGet && r.URL.Query().Has(tokenParameter) && g.exchange(w, r) {
			return
		}
		enters := r.Method == http.MethodPost && r.URL.Path == entry
		if !enters && !g.Has(r) {
			open.ServeHTTP(w, r)
			return
		}
		if why := refusal(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		if enters {
			g.enter(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// CheckProgram returns why a request of a program, which has the token in its header Authorization, is refused, with
// the status of the answer; 0 if it is not. Pages of browsers cannot send it.
func (g *Guard) CheckProgram(r *http.Request) (status int, why string) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !knowsHost(r.Host, g.hosts):
		return http.StatusMisdirectedRequest, misdirected(r)
	case r.Header.Get("Origin") != "" || !ownSite(r):
		return http.StatusForbidden, "This request came from a page; it is refused."
	case !equal(token, g.token):
		return http.StatusUnauthorized, "This is not the token of the page."
	}
	return 0, ""
}

func misdirected(r *http.Request) string {
	return "This server is not " + r.Host + ". Use the address as it was given; a server at another address must be told its name."
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
const entrance = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=ADDRESS"><link rel="icon" href="static/icon.svg"><title>Kazahana</title><p><a href="ADDRESS">Go on</a></p></html>`

// exchange answers a request with the right token: it sets the cookie, and leads to the address
// without the token. It reports whether it has answered.
func (g *Guard) exchange(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if !equal(query.Get(tokenParameter), g.token) {
		return false
	}
	query.Del(tokenParameter)
	g.setCookie(w, r.TLS != nil)
	// Relative to the directory of the page, so that it holds below any prefix.
	clean := url.URL{Path: "./" + r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], RawQuery: query.Encode()}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, strings.ReplaceAll(entrance, "ADDRESS", html.EscapeString(clean.String()))) // the browser has gone
	return true
}

// entry is the path of the request that enters without a link: its body is {"token": "…"}. It is next
// to the pages, so that its cookie is theirs.
const entry = "/enter"

// enter answers a request of a page of this server, which has the token in its body: no log of requests,
// such as that of a proxy, has it then.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request) {
	var body struct{ Token string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxEntry)).Decode(&body); err != nil || !equal(body.Token, g.token) {
		http.Error(w, "This is not the token.", http.StatusUnauthorized)
		return
	}
	g.setCookie(w, strings.HasPrefix(r.Header.Get("Origin"), "https:"))
	w.WriteHeader(http.StatusNoContent)
}

// maxEntry bounds the body of that request, in bytes.
const maxEntry = 4096

// setCookie sets the cookie without a path: browsers send it to the folder of the request, which is that of the
// pages, wherever a program has mounted them.
func (g *Guard) setCookie(w http.ResponseWriter, secure bool) {
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.session, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure})
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

// Options configure a Guard.
type Options struct {
	// Token is what opens a session: 32 characters or more without spaces, "&", "#", "%" and "+".
	Token string
	// Hosts are values of the header Host that are answered, besides loopback addresses and
	// localhost with any port: host:port.
	Hosts []string
}

// minToken is the least length of a token.
const minToken = 32

// Validate reports all faults of the options.
func (o Options) Validate() error {
	var faults []error
	if len(o.Token) < minToken || strings.ContainsAny(o.Token, "&#%+ \t\r\n") {
		faults = append(faults, fmt.Errorf("option Token: it has %d characters, want %d or more, without &, #, %%, + and spaces: openssl rand -hex 32 makes one", len(o.Token), minToken))
	}
	for _, host := range o.Hosts {
		if host == "" || strings.Contains(host, "/") {
			faults = append(faults, fmt.Errorf("option Hosts: %q is not host or host:port, as it is in the header Host", host))
		}
	}
	return errors.Join(faults...)
}
