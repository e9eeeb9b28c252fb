// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// setNewID makes an id for a record of the store and sets it.
func (s *source) setNewID(ctx context.Context, v any) error {
	field := s.record.ID(v)
	kazahana, ok := field.(*idgen.ID)
	own := s.place.db.ids.ownClient()
	if !ok || own == nil {
		return s.record.IDs.Make(ctx, field)
	}
	id, err := own.Next(ctx)
	switch {
	case err == nil:
		*kazahana = id
	case errors.Is(err, idgen.ErrClosed):
		err = s.place.db.ids.closedError(err)
	}
	return err
}

// idFence is the fence of a new record's id: the zero value is none.
type idFence struct {
	fence leasefdb.Fence
	err   error // why the record cannot be created
}

// idFence returns the fence of v's id, if creations are fenced.
func (s *source) idFence(v any) (f idFence) {
	ids := s.place.db.ids
	if !ids.options.Fenced {
		return f
	}
	id, ok := s.record.ID(v).(*idgen.ID)
	if !ok {
		return f
	}
	service := ids.options.Client.ServiceID
	if f.fence, ok = ids.provider.FenceOf(service, *id); !ok {
		f.err = &leasefdb.LostError{
			Name:   fmt.Sprintf("the machine id of %d", int64(*id)),
			Reason: "the id was made without a lease of this DB: by another generator, in fallback, or too long ago",
		}
	}
	return f
}

// ensureID makes an id for a record that has none, outside of all transactions, if the
// library makes the ids of the type.
func (s *source) ensureID(ctx context.Context, v any) error {
	if s.record.hasID(v) || !s.record.IDs.Made() {
		return nil
	}
	if s.tx != nil {
		return fmt.Errorf("%w: %s: make it before the transaction, with New%s after Open: the function may run again and would make another id", ErrNoID, s.record.Type, s.record.Type)
	}
	if err := s.setNewID(ctx, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoID, s.record.Type, err)
	}
	return nil
}
