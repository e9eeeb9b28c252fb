// SPDX-License-Identifier: Apache-2.0

// Package storearg opens the store that a verb names by the path of its directory, and by
// --type where the directory has stores of several types.
//
//	storearg.AddType(verb)
//	verb.RunE = func(cmd *cobra.Command, args []string) error {
//		return storearg.Read(cmd, args[0], func(ctx context.Context, s *dynamic.Store) error {
//			…
//		})
//	}
package storearg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

const typeFlag = "type"

// AddType adds the flag --type to a verb over a store.
func AddType(cmd *cobra.Command) {
	cmd.Flags().String(typeFlag, "", "the `type` of the records, if the directory has several")
}

// Type returns what --type says; "" if it is not given.
func Type(cmd *cobra.Command) (string, error) { return cmd.Flags().GetString(typeFlag) }

// Read opens the store in the directory that an argument names for reading, and calls do.
func Read(cmd *cobra.Command, path string, do func(context.Context, *dynamic.Store) error) error {
	return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error { return with(ctx, cmd, db, path, do) })
}

// Write is [Read] for a verb that writes.
func Write(cmd *cobra.Command, path string, do func(context.Context, *dynamic.Store) error) error {
	return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error { return with(ctx, cmd, db, path, do) })
}

// WriteShown is [Write] for a verb that has shown the store, and asked: it refuses another directory
// that was put at the path since.
func WriteShown(cmd *cobra.Command, shown *dynamic.Store, do func(context.Context, *dynamic.Store) error) error {
	return database.Write(cmd, func(ctx context.Context, db *persistable.DB) error {
		s, err := shown.Reopen(ctx, db)
		if err == nil {
			err = do(ctx, s)
		}
		return Explain(err)
	})
}

func with(ctx context.Context, cmd *cobra.Command, db *persistable.DB, path string, do func(context.Context, *dynamic.Store) error) error {
	s, err := Open(ctx, cmd, db, path)
	if err != nil {
		return err
	}
	return Explain(do(ctx, s))
}

// Open opens the store in the directory that an argument names, of the type of --type.
func Open(ctx context.Context, cmd *cobra.Command, db *persistable.DB, text string) (*dynamic.Store, error) {
	path, err := database.ParsePath(cmd, text)
	if err != nil {
		return nil, err
	}
	typ, err := Type(cmd)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, shell.Invalid(errors.New("the root has no records: name a directory in it"))
	}
	s, err := dynamic.Open(ctx, db, path, typ)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, database.MissingDirectory(ctx, db, path)
	}
	return s, Explain(explainChoice(cmd, err))
}

// explainChoice says how the type of the records is named.
func explainChoice(cmd *cobra.Command, err error) error {
	var several *dynamic.SeveralTypesError
	var none *dynamic.NoStoreError
	switch {
	case errors.As(err, &several):
		return shell.Misuse(cmd, fmt.Errorf("%s has records of several types: say by --%s which: %s",
			database.QuotePath(several.Path), typeFlag, strings.Join(several.Types, ", ")))
	case errors.As(err, &none):
		return database.Missing(fmt.Errorf("%s has %s", database.QuotePath(none.Path), none.Reason()))
	}
	return err
}

// Explain gives the errors of package dynamic their exit codes.
func Explain(err error) error {
	var coded *shell.ExitError
	switch {
	case errors.As(err, &coded):
		return err
	case errors.Is(err, persistable.ErrNotFound):
		return database.Missing(err)
	case errors.As(err, new(*dynamic.ValueError)), errors.As(err, new(*dynamic.WhereError)), errors.Is(err, persistable.ErrBadToken):
		return shell.Invalid(err)
	}
	return err
}
