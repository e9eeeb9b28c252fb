// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

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

// Export writes all records of a tenant, as of one state, as a stream. The tenant is
// locked meanwhile: its writes fail with a [*persistable.LockedError], its reads go on.
func (r *Registry) Export(ctx context.Context, name string, w io.Writer) (err error) {
	dir, err := r.Directory(ctx, name)
	if err != nil {
		return err
	}
	lock, err := r.directories().Lock(ctx, dir, "is being exported")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.unlock(ctx, lock)) }()
	_, err = r.directories().Export(ctx, dir, w, tenants.ExportOptions{Lock: lock})
	return err
}

// unlock ends the lock also if the client has gone, which ended ctx.
func (r *Registry) unlock(ctx context.Context, lock tenants.Lock) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	return r.directories().Unlock(ctx, lock)
}

// Import makes a tenant of a stream that [Registry.Export] has written, in this database
// or in another one, and returns its key. The tenant appears when it is complete.
func (r *Registry) Import(ctx context.Context, name string, stream io.Reader) (key string, err error) {
	key = rand.Text()
	t := records.NewTenant(records.Tenant{Name: name, KeyHash: hashOf(key), CreatedAt: time.Now()})
	if err := t.Validate(); err != nil {
		return "", err
	}
	dir := t.ID.String()
	if _, err := r.directories().Import(ctx, dir, stream, tenants.ImportOptions{}); err != nil {
		return "", errors.Join(err, r.directories().Abandon(context.WithoutCancel(ctx), dir))
	}
	if err := r.tenants.Create(ctx, t); err != nil { // the name is taken, for example
		return "", errors.Join(err, r.directories().Delete(context.WithoutCancel(ctx), dir))
	}
	return key, nil
}
