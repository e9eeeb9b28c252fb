// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

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

// discard removes what an import has stored, complete or not, for which there is no entry.
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
