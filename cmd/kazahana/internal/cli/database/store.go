// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

const typeFlag = "type"

// AddTypeFlag adds the flag --type to a verb over a store.
func AddTypeFlag(cmd *cobra.Command) {
	cmd.Flags().String(typeFlag, "", "the `type` of the records, if the directory has several")
}

// TypeFlag returns what --type says; "" if it is not given.
func TypeFlag(cmd *cobra.Command) (string, error) { return cmd.Flags().GetString(typeFlag) }

// ReadStore opens the store that an argument names by the path of its directory, and --type by its
// type if the directory has stores of several, for reading, and calls do.
func ReadStore(cmd *cobra.Command, path string, do func(context.Context, *dynamic.Store) error) error {
	return Read(cmd, func(ctx context.Context, db *persistable.DB) error { return withStore(ctx, cmd, db, path, do) })
}

// WriteStore is [ReadStore] for a verb that writes.
func WriteStore(cmd *cobra.Command, path string, do func(context.Context, *dynamic.Store) error) error {
	return Write(cmd, func(ctx context.Context, db *persistable.DB) error { return withStore(ctx, cmd, db, path, do) })
}

// WriteShownStore is [WriteStore] for a verb that has shown the store, and asked: it refuses another directory
// that was put at the path since.
func WriteShownStore(cmd *cobra.Command, shown *dynamic.Store, do func(context.Context, *dynamic.Store) error) error {
	return Write(cmd, func(ctx context.Context, db *persistable.DB) error {
		s, err := shown.Reopen(ctx, db)
		if err == nil {
			err = do(ctx, s)
		}
		return ExplainStore(err)
	})
}

func withStore(ctx context.Context, cmd *cobra.Command, db *persistable.DB, path string, do func(context.Context, *dynamic.Store) error) error {
	s, err := OpenStore(ctx, cmd, db, path)
	if err != nil {
		return err
	}
	return ExplainStore(do(ctx, s))
}

// OpenStore opens the store in the directory that an argument names, of the type of --type.
func OpenStore(ctx context.Context, cmd *cobra.Command, db *persistable.DB, text string) (*dynamic.Store, error) {
	path, err := ParsePath(cmd, text)
	if err != nil {
		return nil, err
	}
	typ, err := TypeFlag(cmd)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, shell.Invalid(errors.New("the root has no records: name a directory in it"))
	}
	s, err := dynamic.Open(ctx, db, path, typ)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, MissingDirectory(ctx, db, path)
	}
	return s, ExplainStore(explainChoice(cmd, err))
}

// explainChoice says how the type of the records is named.
func explainChoice(cmd *cobra.Command, err error) error {
	var choice *headers.ChoiceError
	switch {
	case !errors.As(err, &choice):
		return err
	case choice.None:
		return Missing(fmt.Errorf("%s has %s", QuotePath(choice.Path), choice.Reason()))
	}
	return shell.Misuse(cmd, fmt.Errorf("%s has records of several types: say by --%s which: %s",
		QuotePath(choice.Path), typeFlag, strings.Join(choice.Types, ", ")))
}

// ExplainStore gives the errors of package dynamic their exit codes.
func ExplainStore(err error) error {
	var coded *shell.ExitError
	switch {
	case errors.As(err, &coded):
		return err
	case errors.Is(err, persistable.ErrNotFound):
		return Missing(err)
	case errors.As(err, new(*dynamic.ValueError)), errors.Is(err, dynamic.ErrWhere), errors.Is(err, persistable.ErrBadToken):
		return shell.Invalid(err)
	}
	return err
}
