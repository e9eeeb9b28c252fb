// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// ExitMissing is the exit code of a verb that does not find what it is to show or
// change: a directory, a tenant, a type, a record, a key.
const ExitMissing = 4

// Missing says that something does not exist.
func Missing(err error) error { return &shell.ExitError{Code: ExitMissing, Err: err} }

// mostSuggested is among how many names a similar one is looked for, so that one
// transaction reads them.
const mostSuggested = 10_000

// MissingDirectory is the error of a path without a directory. It names the part of the
// path that exists, and what is there under a similar name.
func MissingDirectory(ctx context.Context, db *persistable.DB, path []string) error {
	for n := len(path); n > 0; n-- {
		names, err := db.Layer().ListAfter(ctx, db.Engine(), path[:n-1], "", mostSuggested)
		if errors.Is(err, directory.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		return Missing(fmt.Errorf("there is no directory %s: %s has no %s%s",
			QuotePath(path), placeName(path[:n-1]), quoteElement(path[n-1]), didYouMean(path[n-1], names)))
	}
	return Missing(fmt.Errorf("there is no directory %s", QuotePath(path)))
}

func placeName(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	return QuotePath(path)
}

// quoteElement returns the text of an element of a path as [QuotePath] writes it.
func quoteElement(name string) string { return shell.Argument(FormatElement(name)) }

// didYouMean suggests the name that is nearest to a mistyped one.
func didYouMean(mistyped string, names []string) string {
	near, distance := nearest.Word(mistyped, names)
	switch {
	case len(names) == 0:
		return "; it has no directories at all"
	case distance <= max(2, len(mistyped)/4):
		return ": did you mean " + quoteElement(near) + "?"
	}
	return fmt.Sprintf("; it has %s", quoteElement(names[0])+others(len(names)-1))
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// OpenDirectory opens the directory at a path, other than the root, for reading. If
// there is none the error is that of [MissingDirectory].
func OpenDirectory(ctx context.Context, db *persistable.DB, path []string) (*directory.Directory, error) {
	if len(path) == 0 {
		return nil, shell.Invalid(errors.New("the root has no keys of its own: name a directory in it"))
	}
	d, err := db.Layer().Open(ctx, db.Engine(), path)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, MissingDirectory(ctx, db, path)
	}
	return d, err
}
