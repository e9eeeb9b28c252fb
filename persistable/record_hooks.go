// SPDX-License-Identifier: Apache-2.0

package persistable

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
