// SPDX-License-Identifier: Apache-2.0

package persistable

import "time"

// The fields with the options created and updated are set before the hooks are called, once for each
// call of a verb, so that a retry does not take its own write for another one. A write over a stored
// record then keeps the time of its creation, which only the transaction knows.

// stamp sets the times of a record that is about to be written. A record that is created keeps
// those that it has.
func (r *record) stamp(v any, creates bool) {
	if r.Stamp == nil {
		return
	}
	now := time.Now().UTC().Round(0)
	r.Stamp(v, func(created, updated *time.Time) {
		if created != nil && created.IsZero() {
			*created = now
		}
		if updated != nil && (!creates || updated.IsZero()) {
			*updated = now
		}
	})
}

// createdOf returns when a record was created, as it says; zero if the type has no field for it.
func (r *record) createdOf(v any) (t time.Time) {
	if r.Stamp == nil {
		return t
	}
	r.Stamp(v, func(created, _ *time.Time) {
		if created != nil {
			t = *created
		}
	})
	return t
}

// setCreated sets the time of a record's creation, and reports whether it was another one.
func (r *record) setCreated(v any, t time.Time) (changed bool) {
	if r.Stamp == nil {
		return false
	}
	r.Stamp(v, func(created, _ *time.Time) {
		if created != nil && !created.Equal(t) {
			*created, changed = t, true
		}
	})
	return changed
}
