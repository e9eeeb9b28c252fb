// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/sentinel"
)

// The methods of a record that come before a write, its hooks, are called once for each call of
// a verb, before its transaction. If one of them takes the transaction, all of them are
// called in it instead, in each attempt.

// makeReady calls the hooks of a record that do not take the transaction, and checks the id that
// it has then. [source.complete] does the same for records that may have none.
func (r *record) makeReady(v any, creates bool) error {
	r.stamp(v, creates)
	if r.Hooks.InTransaction() {
		return nil
	}
	if err := r.callEach(context.Background(), Tx{}, v, creates); err != nil {
		return err
	}
	return r.checkID(v)
}

// makeReadyAs is makeReady for a record that the caller has named by the packed id. It
// returns a *[FieldError] if a hook has made it another one.
func (r *record) makeReadyAs(id []byte, v any, creates bool) error {
	if err := r.makeReady(v, creates); err != nil {
		return err
	}
	return r.checkSameID(id, v)
}

// checkSameID returns a *[FieldError] if a hook has changed the packed id of a record.
func (r *record) checkSameID(id []byte, v any) error {
	changed := r.appendID(nil, v)
	if bytes.Equal(changed, id) {
		return nil
	}
	return &FieldError{Type: r.Type, Field: "ID", Reason: fmt.Sprintf(
		"BeforeCreate, BeforeSave or Validate changed it from %s to %s: these methods must keep the id that the caller has set", idText(id), idText(changed))}
}

// callHooksIn calls the hooks of a record in its transaction, and checks the id that it has then.
func (r *record) callHooksIn(ctx context.Context, t *transaction, v any, creates bool) error {
	var id []byte
	if r.hasID(v) {
		id = r.appendID(nil, v)
	}
	if err := r.callEach(ctx, Tx{t: t}, v, creates); err != nil {
		return err
	}
	if err := r.checkID(v); err != nil || id == nil {
		return err
	}
	return r.checkSameID(id, v)
}

// callEach calls the hooks of a record in their order, and checks the bounds of its fields before Validate. It returns an [ErrRefused] if one refuses.
func (r *record) callEach(ctx context.Context, tx Tx, v any, creates bool) error {
	h := &r.Hooks
	if creates {
		if err := r.callHook(ctx, tx, "BeforeCreate", h.BeforeCreate, h.BeforeCreateIn, v); err != nil {
			return err
		}
	}
	if err := r.callHook(ctx, tx, "BeforeSave", h.BeforeSave, h.BeforeSaveIn, v); err != nil {
		return err
	}
	if err := r.checkBounds(v); err != nil {
		return err
	}
	return r.callHook(ctx, tx, "Validate", h.Validate, h.ValidateIn, v)
}

// checkBounds returns an [ErrRefused] that is a *[FieldError] if a value breaks the bounds of its field.
func (r *record) checkBounds(v any) error {
	if r.Check == nil {
		return nil
	}
	if field, reason := r.Check(v); reason != "" {
		return sentinel.Mark(ErrRefused, &FieldError{Type: r.Type, Field: field, Reason: reason})
	}
	return nil
}

// callHook calls a hook in the form that the type has, if it has one.
func (r *record) callHook(ctx context.Context, tx Tx, name string, hook func(any) error, hookIn func(ctx context.Context, tx, record any) error, v any) (err error) {
	switch {
	case hook != nil:
		err = hook(v)
	case hookIn != nil:
		err = hookIn(ctx, tx, v)
	}
	if err == nil {
		return nil
	}
	who := r.Type
	if r.hasID(v) {
		who += " " + idText(r.appendID(nil, v))
	}
	err = fmt.Errorf("persistable: %s: %s: %w", who, name, err)
	if hook == nil && !isFault(err) { // one of the transaction
		return err
	}
	return sentinel.Mark(ErrRefused, err)
}
