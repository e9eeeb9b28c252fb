// SPDX-License-Identifier: Apache-2.0

// Package sentinel gives errors the sentinels by which callers find them, without a change of
// their texts.
//
//	return sentinel.Mark(ErrQuota, fmt.Errorf("persistable: %s has %d records, and a quota of %d", name, used, limit))
package sentinel

// Mark returns err with its text and all that it wraps, which is also target, a sentinel: errors.Is
// finds it.
func Mark(target, err error) error { return &failure{err, target} }

type failure struct {
	error
	target error
}

// Is reports whether target is the sentinel.
func (f *failure) Is(target error) bool { return target == f.target }

// Unwrap returns the error that was marked.
func (f *failure) Unwrap() error { return f.error }
