// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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
	// MaxLeasedPerMs bounds the throughput of all leases of a service together
	// that were granted to tokens of this name and have neither ended nor been
	// released; 0 means no bound. The account is in the store of the leases, so
	// it holds for all servers of that store; see [lease.Budget]. The last lease
	// may pass it, since a lease can be larger than what was asked for. A lease
	// counts for up to a thirtieth of its length after its end.
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

// account is a token; nil is that of anonymous clients.
type account struct {
	Token
	hash [sha256.Size]byte // of the secret: comparisons take the same time for every length
}

func newAccount(t Token) *account {
	hash := sha256.Sum256([]byte(t.Secret))
	t.Secret = "" // not needed any more
	return &account{Token: t, hash: hash}
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
func (a *account) acquire(ctx context.Context, provider idgen.LeaseProvider, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	if a == nil {
		return provider.Acquire(ctx, req)
	}
	if throughput := max(req.ThroughputPerMs, 1); a.MaxThroughputPerMs > 0 && throughput > a.MaxThroughputPerMs {
		return nil, fault(http.StatusForbidden, codeForbidden, "the token permits a throughput of %d per millisecond, not %d", a.MaxThroughputPerMs, throughput)
	}
	if a.MaxLeasedPerMs == 0 {
		return provider.Acquire(ctx, req)
	}
	budget := &lease.Budget{Account: a.Name, PerMs: a.MaxLeasedPerMs}
	leases, err := provider.Acquire(lease.WithBudget(ctx, budget), req)
	if err == nil && !budget.IsApplied() {
		err = errors.New("lease/http: the provider keeps no account of what tokens have leased: serve a lease.Server, or set no MaxLeasedPerMs")
		for _, l := range leases {
			err = errors.Join(err, provider.Release(ctx, l.Release(req.ServiceID, l.Created-1, time.Now())))
		}
		return nil, err
	}
	return leases, err
}
