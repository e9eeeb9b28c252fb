// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"fmt"
)

// makeReady calls the methods of a record that come before a write, and checks the id
// that it has then. [source.complete] does the same for records that may have none.
func (r *record) makeReady(v any, creates bool) error {
	if err := r.callHooks(v, creates); err != nil {
		return err
	}
	return r.checkID(v)
}

// checkID is the rule of all verbs that write a record: it returns [ErrNoID] for an id that
// is not set, and a *[FieldError] for one that cannot be one.
func (r *record) checkID(v any) error {
	if !r.hasID(v) {
		return fmt.Errorf("%w: %s: an id that is zero or empty counts as none: set another one", ErrNoID, r.Type)
	}
	if fault := r.IDFault(v); fault != "" {
		return &FieldError{Type: r.Type, Field: "ID", Reason: fault}
	}
	return nil
}

// callHooks calls the methods of a record that come before a write. It returns a
// *[HookError] if one refuses.
func (r *record) callHooks(v any, creates bool) error {
	if creates {
		if err := r.callHook("BeforeCreate", r.Hooks.BeforeCreate, v); err != nil {
			return err
		}
	}
	if err := r.callHook("BeforeSave", r.Hooks.BeforeSave, v); err != nil {
		return err
	}
	return r.callHook("Validate", r.Hooks.Validate, v)
}

// makeReadyAs is makeReady for a record that the caller has named by the packed id. It
// returns a *[FieldError] if a hook has made it another one.
func (r *record) makeReadyAs(id []byte, v any, creates bool) error {
	if err := r.makeReady(v, creates); err != nil {
		return err
	}
	changed := r.appendID(nil, v)
	if bytes.Equal(changed, id) {
		return nil
	}
	return &FieldError{Type: r.Type, Field: "ID", Reason: fmt.Sprintf(
		"BeforeCreate, BeforeSave or Validate changed it from %s to %s: these methods must keep the id that the caller has set", idText(id), idText(changed))}
}

func (r *record) callHook(name string, hook func(any) error, v any) error {
	if hook == nil {
		return nil
	}
	err := hook(v)
	if err == nil {
		return nil
	}
	e := &HookError{Type: r.Type, Hook: name, Err: err}
	if r.hasID(v) {
		e.ID = idText(r.appendID(nil, v))
	}
	return e
}
