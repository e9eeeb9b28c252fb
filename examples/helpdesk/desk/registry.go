// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// ErrBadKey says that a key is not, or no longer, that of a tenant.
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

// directories returns the directories of the tenants, for the verbs on whole tenants.
func (r *Registry) directories() *tenants.Set { return tenants.Of(r.db, "tenants") }

// Directory returns the name of a tenant's directory.
func (r *Registry) Directory(ctx context.Context, name string) (string, error) {
	t, err := r.tenants.ByName(ctx, name)
	if err != nil {
		return "", err
	}
	return t.ID.String(), nil
}

// Export writes all records of a tenant, as of one state, as a stream. It locks the tenant
// until it returns: writes fail with a [persistable.ErrLocked], reads go on.
func (r *Registry) Export(ctx context.Context, name string, w io.Writer) (err error) {
	dir, err := r.Directory(ctx, name)
	if err != nil {
		return err
	}
	lock, err := r.lock(ctx, dir, "is being exported")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.unlock(ctx, lock)) }()
	_, err = r.directories().Export(ctx, dir, w, tenants.ExportOptions{Lock: lock})
	return err
}

// Import makes a tenant of a stream that [Registry.Export] has written, in this database
// or in another one, and returns its key. The tenant appears when it is complete. What a
// failed import has stored is removed, if it is certain that no tenant has it.
func (r *Registry) Import(ctx context.Context, name string, stream io.Reader) (key string, err error) {
	key = rand.Text()
	t := r.tenants.New(records.Tenant{Name: name, KeyHash: hashOf(key), CreatedAt: time.Now()})
	if err := t.Validate(); err != nil {
		return "", err
	}
	if t.ID == 0 { // and the directory would be one of several imports
		return "", fmt.Errorf("import the tenant %s: %w: try again", name, persistable.ErrNoID)
	}
	dir := t.ID.String() // the ID is new: no other call imports there
	if _, err := r.directories().Import(ctx, dir, stream, tenants.ImportOptions{}); err != nil {
		return "", errors.Join(err, r.discard(ctx, dir))
	}
	return key, r.register(ctx, t)
}

// register stores the entry of a tenant after its records. If the outcome is unknown
// it stores the entry once more: then either it was there, or it is there now. Only if the
// name is another tenant's is it certain that no tenant has the records.
func (r *Registry) register(ctx context.Context, t *records.Tenant) error {
	err := r.tenants.Create(ctx, t)
	if err != nil && !isTaken(err) {
		again, stop := detach(ctx)
		defer stop()
		err = r.tenants.Create(again, t)
	}
	switch {
	case err == nil || errors.Is(err, persistable.ErrExists):
		return nil
	case isTaken(err):
		return errors.Join(err, r.discard(ctx, t.ID.String()))
	}
	return fmt.Errorf("it is unknown whether the tenant %s was made; its records stay in the directory tenants/%s: %w", t.Name, t.ID, err)
}

func isTaken(err error) bool {
	var taken *persistable.UniqueError
	return errors.As(err, &taken)
}

// discard removes what an import without an entry has stored, complete or not.
func (r *Registry) discard(ctx context.Context, dir string) error {
	ctx = context.WithoutCancel(ctx)
	if err := r.directories().Abandon(ctx, dir); err != nil {
		return err
	}
	if err := r.directories().Delete(ctx, dir); !errors.Is(err, tenants.ErrNotFound) {
		return err
	}
	return nil
}

// indexes yields the indexes of all stores: the registry's, then those of each tenant.
func (r *Registry) indexes(ctx context.Context) iter.Seq2[persistable.Indexes, error] {
	return func(yield func(persistable.Indexes, error) bool) {
		if !yield(r.tenants.Indexes(), nil) {
			return
		}
		for t, err := range r.tenants.Scan().All(ctx) {
			if err != nil {
				yield(persistable.Indexes{}, err)
				return
			}
			d := newDesk(r, t)
			for _, x := range []persistable.Indexes{d.tickets.Indexes(), d.comments.Indexes(), d.notices.Indexes()} {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
}

// BuildIndexes builds, in the stores of all tenants, the indexes that an earlier program did not have.
// All programs can read and write during the build. If it is interrupted, another call
// continues it; several processes may call it at once, and share the work.
func (r *Registry) BuildIndexes(ctx context.Context) error {
	_, err := persistable.Migrate(ctx, r.db, persistable.MigrateOptions{},
		r.tenants, records.TicketStoreOf(nil, ""), records.CommentStoreOf(nil, ""), records.NoticeStoreOf(nil, ""))
	return err
}

// Verify compares all records with their index entries, and returns the number of records
// and the faults.
func (r *Registry) Verify(ctx context.Context) (n int, faults []persistable.Fault, err error) {
	for x, err := range r.indexes(ctx) {
		if err != nil {
			return n, faults, err
		}
		report, err := x.Verify(ctx, persistable.VerifyOptions{})
		if err != nil {
			return n, faults, err
		}
		n, faults = n+report.Records, append(faults, report.Faults...)
	}
	return n, faults, nil
}

// lock locks a tenant, even if the client disconnects: a canceled commit would leave it
// unknown whether the tenant is locked, and by which lock.
func (r *Registry) lock(ctx context.Context, dir, reason string) (tenants.Lock, error) {
	ctx, stop := detach(ctx)
	defer stop()
	return r.directories().Lock(ctx, dir, reason)
}

// unlock ends the lock even if the client has disconnected, which ended ctx.
func (r *Registry) unlock(ctx context.Context, lock tenants.Lock) error {
	ctx, stop := detach(ctx)
	defer stop()
	return r.directories().Unlock(ctx, lock)
}

// detach returns a context for what must be done even if the client has disconnected.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// Unlock ends the lock of a tenant, if it has one, after an export in a process that was
// killed. An export that is still under way fails.
func (r *Registry) Unlock(ctx context.Context, name string) error {
	dir, err := r.Directory(ctx, name)
	if err != nil {
		return err
	}
	lock, locked, err := r.directories().LockOf(ctx, dir)
	if errors.Is(err, tenants.ErrNotFound) {
		return nil // the tenant has never written anything
	}
	if err == nil && locked {
		err = r.directories().Unlock(ctx, lock)
	}
	return err
}
