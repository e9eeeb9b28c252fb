// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
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
	prefix         string
	hosts          []string
}

// New returns a guard with a session of its own.
func New(o Options) (*Guard, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g := &Guard{token: o.Token, session: randomText(), prefix: o.Prefix, hosts: o.Hosts}
	if g.token == "" {
		g.token = randomText()
	}
	if g.prefix == "" {
		g.prefix = "/"
	}
	name := sha256.Sum256([]byte("name of " + g.session))
	g.cookie = "kazahana_ui_" + hex.EncodeToString(name[:4])
	return g, nil
}

// randomText returns 256 random bits.
func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// tokenParameter is the parameter of the link.
const tokenParameter = "token"

// Link returns the address that opens a session, on a server at origin: scheme://host:port.
func (g *Guard) Link(origin string) string {
	return origin + g.prefix + "?" + tokenParameter + "=" + g.token
}

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
