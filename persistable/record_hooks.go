// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"fmt"
)

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

// callHooksOf is callHooks for a record that the caller has named by the packed id. It
// returns a *[FieldError] if a hook has made it another one.
func (r *record) callHooksOf(id []byte, v any, creates bool) error {
	if err := r.callHooks(v, creates); err != nil {
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
