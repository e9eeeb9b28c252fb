// SPDX-License-Identifier: Apache-2.0

package http

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/redact"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
)

// Token is a bearer token, and what its bearer may do.
type Token struct {
	// Name is for people; two tokens do not share one.
	Name string
	// Secret is what the bearer presents: at least 16 characters, random.
	Secret string
	// Services are those that may be leased for; nil means every one. A list that is empty
	// and not nil is refused: it would permit all where it looks like none.
	Services []string
	// MaxThroughput bounds one request; 0 means as the provider does.
	MaxThroughput int `json:"maxThroughputPerMs"`
	// MaxLeased bounds the throughput of all leases of a service together
	// that were granted to tokens of this name and have neither ended nor been
	// released; 0 means no bound. The account is in the store of the leases, so
	// it holds for all servers of that store. The last lease
	// may pass it, since a lease can be larger than what was asked for. A lease
	// counts for up to a thirtieth of its length after its end. Leases that others
	// replace do not count until they are given back, but as much again is their bound:
	// see [idgen.AcquireRequest].
	MaxLeased int `json:"maxLeasedPerMs"`
	// List permits GET /leases.
	List bool
}

// minSecret is the length of the shortest secret.
const minSecret = 16

func (t Token) validate() error {
	if len(t.Secret) < minSecret || strings.ContainsFunc(t.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("lease/http: the secret of token %q must have at least %d characters, all printable ASCII without spaces", t.Name, minSecret)
	}
	if t.Services != nil && len(t.Services) == 0 {
		return fmt.Errorf("lease/http: token %q: the list of its services is empty; name those that it may lease for, or leave the list out if it may lease for every one", t.Name)
	}
	if t.MaxThroughput < 0 || t.MaxLeased < 0 {
		return fmt.Errorf("lease/http: token %q: MaxThroughput is %d and MaxLeased %d; they must not be negative", t.Name, t.MaxThroughput, t.MaxLeased)
	}
	return nil
}

// Format implements [fmt.Formatter]: a token prints like any struct, except that
// its secret is left out.
func (t Token) Format(f fmt.State, verb rune) { redact.Format(f, verb, t.withoutSecret()) }

// LogValue implements [slog.LogValuer]: a token is logged without its secret.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.withoutSecret()) }

// withoutSecret returns the token without its secret, as a type without methods.
func (t Token) withoutSecret() any {
	type token = Token
	type Token token // the name that %#v prints
	t.Secret = redact.Secret(t.Secret)
	return Token(t)
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

// serviceName returns the id of the service that a request names.
func serviceName(service string) string { return cmp.Or(service, lease.DefaultService) }

// checkService refuses services that are not the token's.
func (a *account) checkService(service string) error {
	if a == nil || len(a.Services) == 0 || slices.Contains(a.Services, serviceName(service)) {
		return nil
	}
	return newStatusError(http.StatusForbidden, codeForbidden, "the token is not for service %q", serviceName(service))
}

// maxRequestKey is the length of the longest request key.
const maxRequestKey = 128

// ownKey returns the request key with which the provider tells a repeated request of the account.
// Two accounts that send the same key have two requests: the provider would answer the second one
// with the lease of the first, and its secret. A key that is too long stays so, and the provider
// refuses it.
func (a *account) ownKey(key string) string {
	if key == "" || len(key) > maxRequestKey {
		return key
	}
	owner := "anonymous"
	if a != nil {
		owner = "token " + strconv.Quote(a.Name)
	}
	own := sha256.Sum256([]byte(owner + " " + key))
	return hex.EncodeToString(own[:])
}

func (a *account) mayList() bool { return a == nil || a.List }

// acquire leases from provider within what the token permits.
func (a *account) acquire(ctx context.Context, provider idgen.LeaseProvider, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	req.RequestKey = a.ownKey(req.RequestKey)
	if a == nil {
		return provider.Acquire(ctx, req)
	}
	if throughput := max(req.Throughput, 1); a.MaxThroughput > 0 && throughput > a.MaxThroughput {
		return nil, newStatusError(http.StatusForbidden, codeForbidden, "the token permits a throughput of %d per millisecond, not %d", a.MaxThroughput, throughput)
	}
	if a.MaxLeased == 0 {
		return provider.Acquire(ctx, req)
	}
	budget := &refusal.Budget{Account: a.Name, PerMs: a.MaxLeased}
	leases, err := provider.Acquire(refusal.WithBudget(ctx, budget), req)
	if err == nil && !budget.IsApplied() {
		err = errors.New("lease/http: the provider keeps no account of what tokens have leased: serve a lease.Server, or set no MaxLeased")
		for _, l := range leases {
			err = errors.Join(err, provider.Release(ctx, l.Release(req.ServiceID, l.Created-1, time.Now())))
		}
		return nil, err
	}
	return leases, err
}

// listServices returns the next services with IDs greater than after, at most limit of them:
// those that the token may lease for, since the names of others are not its business. It
// returns none only if there are no more.
func (a *account) listServices(ctx context.Context, store lister, after string, limit int) ([]string, error) {
	if a == nil || len(a.Services) == 0 {
		return store.Services(ctx, after, limit)
	}
	step := limit
	if limit > 0 {
		step = max(limit, fullPage) // few of them may be the token's
	}
	for {
		ids, err := store.Services(ctx, after, step)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		after = ids[len(ids)-1]
		ids = slices.DeleteFunc(ids, func(id string) bool { return a.checkService(id) != nil })
		if limit > 0 {
			ids = ids[:min(limit, len(ids))]
		}
		if len(ids) > 0 {
			return ids, nil
		}
	}
}
