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
	own := s.place.db.ids.own()
	if !ok || own == nil {
		return s.record.IDs.Make(ctx, field)
	}
	id, err := own.Next(ctx)
	switch {
	case err == nil:
		*kazahana = id
	case errors.Is(err, idgen.ErrClosed) && s.place.db.ids.options.Generator == nil:
		err = s.place.db.ids.closedError(err)
	}
	return err
}

// idFence is what a new record's id depends on: the zero value is nothing.
type idFence struct {
	fence   leasefdb.Fence
	lost    error // why the fence does not hold
	foreign error // a *[FieldError]: another database has made the id
}

// idFence returns the fence of v's id. It has a fence if creations are fenced.
func (s *source) idFence(ctx context.Context, v any) (f idFence, err error) {
	ids := s.place.db.ids
	id, ok := s.record.ID(v).(*idgen.ID)
	if !ok {
		return f, nil
	}
	fault, err := ids.checkOwn(ctx, *id)
	if err != nil {
		return f, err
	}
	if fault != "" {
		f.foreign = &FieldError{Type: s.record.Type, Field: "ID", Reason: fault}
	}
	if !ids.options.Fenced {
		return f, nil
	}
	if f.fence, ok = ids.provider.FenceOf(ids.options.Client.ServiceID, *id); !ok {
		f.lost = &leasefdb.LostError{
			Name:   fmt.Sprintf("the machine id of %d", int64(*id)),
			Reason: "the id was made without a lease of this DB: by another generator, in fallback, or too long ago",
		}
	}
	return f, nil
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
