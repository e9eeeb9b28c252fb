// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
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
	// released; 0 means no bound. The last lease may pass it, since a lease can
	// be larger than what was asked for. Requests of such a token are answered
	// one after the other.
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

	turn chan struct{} // holds one value while a request to lease or to release is under way

	mu     sync.Mutex
	leased map[leased]grant
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
	hash := sha256.Sum256([]byte(t.Secret))
	t.Secret = "" // not needed any more
	return &account{Token: t, hash: hash, turn: make(chan struct{}, 1), leased: map[leased]grant{}}
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

// named returns the id of the service that a request names.
func named(service string) string {
	if service == "" {
		return lease.DefaultService
	}
	return service
}

// permit refuses services that are not the token's.
func (a *account) permit(service string) error {
	if a == nil || len(a.Services) == 0 || slices.Contains(a.Services, named(service)) {
		return nil
	}
	return fault(http.StatusForbidden, codeForbidden, "the token is not for service %q", named(service))
}

func (a *account) mayList() bool { return a == nil || a.List }

// acquire leases from provider within what the token permits.
func (a *account) acquire(ctx context.Context, provider idgen.LeaseProvider, req idgen.AcquireRequest, now func() time.Time) ([]idgen.Lease, error) {
	if a == nil {
		return provider.Acquire(ctx, req)
	}
	if throughput := max(req.ThroughputPerMs, 1); a.MaxThroughputPerMs > 0 && throughput > a.MaxThroughputPerMs {
		return nil, fault(http.StatusForbidden, codeForbidden, "the token permits a throughput of %d per millisecond, not %d", a.MaxThroughputPerMs, throughput)
	}
	if a.MaxLeasedPerMs == 0 {
		return provider.Acquire(ctx, req)
	}
	if err := a.await(ctx); err != nil {
		return nil, err
	}
	defer a.done()
	if err := a.room(req, now()); err != nil {
		return nil, err
	}
	leases, err := provider.Acquire(ctx, req)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range leases {
		a.leased[leased{named(req.ServiceID), l.ID, l.BitSeq, l.Created}] = grant{expired: l.Expired, request: req.RequestKey}
	}
	return leases, err
}

// room checks that the token has not leased too much yet. A request that was
// answered before takes nothing more.
func (a *account) room(req idgen.AcquireRequest, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	total := 0
	for l, g := range a.leased {
		if g.expired <= now.UnixMilli() {
			delete(a.leased, l)
			continue
		}
		if g.request != "" && g.request == req.RequestKey && l.service == named(req.ServiceID) {
			return nil
		}
		total += 1 << l.bitSeq
	}
	if max(req.ThroughputPerMs, 1) > a.MaxLeasedPerMs-total {
		return fault(http.StatusTooManyRequests, codeTooMuch, "the token has leased a throughput of %d per millisecond, and permits %d", total, a.MaxLeasedPerMs)
	}
	return nil
}

// release gives a lease back and counts it no longer. Its request is no longer
// answered from before then, but anew and in full: it counts from now on.
func (a *account) release(ctx context.Context, provider idgen.LeaseProvider, req idgen.ReleaseRequest) error {
	if a == nil || a.MaxLeasedPerMs == 0 {
		return provider.Release(ctx, req)
	}
	if err := a.await(ctx); err != nil {
		return err
	}
	defer a.done()
	key := leased{named(req.ServiceID), req.ID, req.BitSeq, req.Created}
	a.forget(key)
	if err := provider.Release(ctx, req); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.leased, key)
	return nil
}

// forget forgets the request that a lease was granted for.
func (a *account) forget(key leased) {
	a.mu.Lock()
	defer a.mu.Unlock()
	request := a.leased[key].request
	for l, g := range a.leased {
		if g.request == request && l.service == key.service {
			a.leased[l] = grant{expired: g.expired}
		}
	}
}

// await waits for the account's turn, which ends with done.
func (a *account) await(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *account) done() { <-a.turn }
