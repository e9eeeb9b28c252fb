// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// listServices returns services behind after, at most limit of them: those that the
// token may lease for, since the names of others are not its business. There are
// none only where there are no more.
func (a *account) listServices(ctx context.Context, store Enumerator, after string, limit int) ([]string, error) {
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
func serviceName(service string) string {
	if service == "" {
		return lease.DefaultService
	}
	return service
}

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
	if throughput := max(req.ThroughputPerMs, 1); a.MaxThroughputPerMs > 0 && throughput > a.MaxThroughputPerMs {
		return nil, newStatusError(http.StatusForbidden, codeForbidden, "the token permits a throughput of %d per millisecond, not %d", a.MaxThroughputPerMs, throughput)
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
