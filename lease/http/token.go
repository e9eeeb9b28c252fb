// SPDX-License-Identifier: Apache-2.0

package http

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// Token is a bearer token, and what its bearer may do.
type Token struct {
	// Name is for people; two tokens do not share one.
	Name string
	// Secret is what the bearer presents: at least 16 characters, random.
	Secret string
	// Services are those that may be leased for; none means every one.
	Services []string
	// MaxThroughputPerMs bounds one request; 0 means as the provider does.
	MaxThroughputPerMs int
	// MaxLeasedPerMs bounds the throughput of all leases together that were
	// granted to the token by this handler, and have neither ended nor been
	// released; 0 means no bound.
	MaxLeasedPerMs int
	// List permits GET /leases.
	List bool
}

// minSecret is the length of the shortest secret.
const minSecret = 16

func (t Token) validate() error {
	if len(t.Secret) < minSecret || strings.ContainsFunc(t.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("lease/http: the secret of token %q must have at least %d characters, all printable ASCII without spaces", t.Name, minSecret)
	}
	if t.MaxThroughputPerMs < 0 || t.MaxLeasedPerMs < 0 {
		return fmt.Errorf("lease/http: token %q: MaxThroughputPerMs is %d and MaxLeasedPerMs %d; they must not be negative", t.Name, t.MaxThroughputPerMs, t.MaxLeasedPerMs)
	}
	return nil
}

// account is a token and what was leased with it; nil is that of anonymous
// clients.
type account struct {
	Token
	hash [sha256.Size]byte // of the secret: comparisons take the same time for every length

	mu       sync.Mutex
	reserved int // throughput of the requests under way
	leased   map[leased]grant
}

// leased is a lease, as an account counts it.
type leased struct {
	service string
	id      int64
	bitSeq  int
	created int64
}

// grant is what an account knows of a lease.
type grant struct {
	expired int64  // Unix milliseconds
	request string // the request key
}

func newAccount(t Token) *account {
	return &account{Token: t, hash: sha256.Sum256([]byte(t.Secret)), leased: map[leased]grant{}}
}

// authenticate returns whose token the request bears. It compares with all of
// them, whichever it is.
func (h *Handler) authenticate(r *http.Request) (*account, error) {
	header := r.Header.Get("Authorization")
	if header == "" && h.options.Anonymous {
		return nil, nil
	}
	scheme, secret, _ := strings.Cut(header, " ")
	hash := sha256.Sum256([]byte(secret))
	var found *account
	for _, a := range h.accounts {
		if subtle.ConstantTimeCompare(hash[:], a.hash[:]) == 1 {
			found = a
		}
	}
	if found == nil || !strings.EqualFold(scheme, "Bearer") {
		return nil, fault(http.StatusUnauthorized, codeUnauthorized, "the request bears no valid token")
	}
	return found, nil
}

// permit refuses services that are not the token's.
func (a *account) permit(service string) error {
	if service == "" {
		service = lease.DefaultService
	}
	if a == nil || len(a.Services) == 0 || slices.Contains(a.Services, service) {
		return nil
	}
	return fault(http.StatusForbidden, codeForbidden, "the token is not for service %q", service)
}

func (a *account) mayList() bool { return a == nil || a.List }

// reserve counts a request against the token, until settle. One that repeats a
// request counts as nothing.
func (a *account) reserve(req idgen.AcquireRequest, now time.Time) (reserved int, err error) {
	if a == nil {
		return 0, nil
	}
	throughput := max(req.ThroughputPerMs, 1)
	if a.MaxThroughputPerMs > 0 && throughput > a.MaxThroughputPerMs {
		return 0, fault(http.StatusForbidden, codeForbidden, "the token permits a throughput of %d per millisecond, not %d", a.MaxThroughputPerMs, throughput)
	}
	if a.MaxLeasedPerMs == 0 {
		return 0, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	total := a.reserved
	for l, g := range a.leased {
		if g.expired <= now.UnixMilli() {
			delete(a.leased, l)
			continue
		}
		if g.request != "" && g.request == req.RequestKey && l.service == req.ServiceID {
			return 0, nil
		}
		total += 1 << l.bitSeq
	}
	if throughput > a.MaxLeasedPerMs-total {
		return 0, fault(http.StatusTooManyRequests, codeTooMuch, "the token has leased a throughput of %d per millisecond, and permits %d", total, a.MaxLeasedPerMs)
	}
	a.reserved += throughput
	return throughput, nil
}

// settle counts what was granted instead of what was reserved.
func (a *account) settle(reserved int, req idgen.AcquireRequest, leases []idgen.Lease) {
	if a == nil || a.MaxLeasedPerMs == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved -= reserved
	for _, l := range leases {
		a.leased[leased{req.ServiceID, l.ID, l.BitSeq, l.Created}] = grant{expired: l.Expired, request: req.RequestKey}
	}
}

// released counts a lease no longer.
func (a *account) released(req idgen.ReleaseRequest) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.leased, leased{req.ServiceID, req.ID, req.BitSeq, req.Created})
}
