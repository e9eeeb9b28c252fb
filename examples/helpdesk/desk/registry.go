// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// ErrBadKey says that a key is not, or no more, that of a tenant.
var ErrBadKey = errors.New("the API key is not that of a tenant")

// Registry knows the tenants. It is safe for concurrent use.
type Registry struct {
	db      *persistable.DB
	tenants *records.TenantStore
}

// NewRegistry returns the registry of a database.
func NewRegistry(db *persistable.DB) *Registry {
	return &Registry{db: db, tenants: records.TenantStoreOf(db)}
}

// Add makes a tenant and returns its API key. Of two calls with one name the second gets a
// [*persistable.UniqueError].
func (r *Registry) Add(ctx context.Context, name string) (key string, err error) {
	key = rand.Text()
	t := r.tenants.New(records.Tenant{Name: name, KeyHash: hashOf(key), CreatedAt: time.Now()})
	return key, r.tenants.Create(ctx, t)
}

// hashOf returns what is stored of a key. Keys have 128 random bits, which are too
// many to try: unlike a password they need no salt and no slow hash.
func hashOf(key string) []byte {
	hash := sha256.Sum256([]byte(key))
	return hash[:]
}

// Authenticate returns the desk of the tenant that has the key, or [ErrBadKey].
func (r *Registry) Authenticate(ctx context.Context, key string) (*Desk, error) {
	t, err := r.tenants.ByKeyHash(ctx, hashOf(key))
	if errors.Is(err, persistable.ErrNotFound) {
		return nil, ErrBadKey
	} else if err != nil {
		return nil, err
	}
	return newDesk(r, t), nil
}

// Rekey gives a tenant another key. The one before is void at once.
func (r *Registry) Rekey(ctx context.Context, name string) (key string, err error) {
	t, err := r.tenants.ByName(ctx, name)
	if err != nil {
		return "", err
	}
	key = rand.Text()
	return key, r.tenants.Update(ctx, t.ID, func(t *records.Tenant) error {
		t.KeyHash = hashOf(key)
		return nil
	})
}

// Names yields the names of all tenants.
func (r *Registry) Names(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for t, err := range r.tenants.OrderedByName().All(ctx) {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(t.Name, nil) {
				return
			}
		}
	}
}

// Remove removes a tenant with all its records. Its key is void first, so that no request
// writes any more. If Remove is interrupted, another call goes on.
func (r *Registry) Remove(ctx context.Context, name string) error {
	if _, err := r.Rekey(ctx, name); err != nil {
		return err
	}
	t, err := r.tenants.ByName(ctx, name)
	if err != nil {
		return err
	}
	if err := r.directories().Delete(ctx, t.ID.String()); err != nil && !errors.Is(err, tenants.ErrNotFound) {
		return err // ErrNotFound: the tenant has never written anything, or an earlier call came so far
	}
	return r.tenants.Delete(ctx, t.ID)
}
