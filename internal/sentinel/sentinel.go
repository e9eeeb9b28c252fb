// SPDX-License-Identifier: Apache-2.0

// Package sentinel gives errors the sentinels by which callers find them, without a change of
// their texts.
//
//	return sentinel.As(ErrQuota, fmt.Errorf("persistable: %s has %d records, and a quota of %d", name, used, limit))
package sentinel

import (
	"errors"
	"fmt"
	"strings"
)

// As returns err with its text and all that it wraps, which is also target, a sentinel: errors.Is
// finds it.
func As(target, err error) error { return &failure{err, target} }

type failure struct {
	error
	target error
}

// Is reports whether target is the sentinel.
func (f *failure) Is(target error) bool { return target == f.target }

// Unwrap returns the error that was marked.
func (f *failure) Unwrap() error { return f.error }

// ErrLocked is the sentinel of [Locked]. Package persistable shows and documents it.
var ErrLocked = errors.New("persistable: the directory is locked against writes")

// Locked is the error of a write in a directory that is locked. typ is the type of the
// record, empty if none is concerned; reason is that of the lock.
func Locked(typ string, path []string, reason string) error {
	if typ != "" {
		typ += ": "
	}
	return As(ErrLocked, fmt.Errorf("persistable: %sthe directory %s is locked against writes (%s): try again when it is unlocked", typ, Path(path), reason))
}

// Path shows the path of a directory, with long names shortened.
func Path(path []string) string {
	var b strings.Builder
	for i, name := range path {
		if i > 0 {
			b.WriteByte('/')
		}
		if len(name) > 64 {
			name = name[:64] + "…"
		}
		fmt.Fprintf(&b, "%q", name)
	}
	return b.String()
}
