// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"io"

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

// Export writes all records of a tenant, as of one state, as a stream. It locks the tenant
// until it returns: writes fail with a [*persistable.LockedError], reads go on.
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
