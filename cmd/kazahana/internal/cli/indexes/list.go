// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

func listCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "list [PATH]", Short: "Show the indexes of all stores in a directory and below", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Show the indexes of the stores in a directory and below it, without PATH of all: what they keep, their
state (readable; building: writes maintain it, and queries are refused; disabled), their size, how far
the build of a store has come, and why an index needs the Go code of its type, if it does.

The entries of an index below about a megabyte are counted. The size of a larger one is estimated from the engine's
estimate and its first thousand entries.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana index list --db data\n  kazahana index list tenants/tenant-1/orders --db data --json",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			var path []string
			var err error
			if len(args) > 0 {
				if path, err = database.ParsePath(cmd, args[0]); err != nil {
					return err
				}
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error { return list(ctx, cmd, c, db, path) })
		},
	}
}

func list(ctx context.Context, cmd *cobra.Command, c *shell.Console, db *persistable.DB, path []string) error {
	typ, err := storearg.Type(cmd)
	if err != nil {
		return err
	}
	var faults []error // of stores that cannot be read
	for at, err := range dynamic.Stores(ctx, db, path...) {
		if errors.Is(err, persistable.ErrNotFound) {
			return database.MissingDirectory(ctx, db, path)
		}
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		if typ != "" && at.Type != typ {
			continue
		}
		if err := listStore(ctx, c, db, at); err != nil {
			faults = append(faults, fmt.Errorf("%s in %s: %w", at.Type, database.QuotePath(at.Path), err))
		}
		if len(faults) > 0 && (ctx.Err() != nil || kv.CodeOf(faults[len(faults)-1]) != 0) {
			break // the fault is not that of a store
		}
	}
	return errors.Join(faults...)
}

// listStore shows the indexes of one store.
func listStore(ctx context.Context, c *shell.Console, db *persistable.DB, at dynamic.Location) error {
	s, err := dynamic.Open(ctx, db, at.Path, at.Type)
	if err != nil {
		return err
	}
	progress := ""
	if p, err := s.Indexes().Progress(ctx); err == nil && len(p.Indexes) > 0 {
		progress = p.String()
	}
	for _, ix := range s.Schema().Indexes {
		d := newDescription(at, ix)
		if ix.State == index.Building {
			d.Progress = progress
		}
		if d.size, err = measure(ctx, db, at.Path, ix.KeyName); err != nil {
			return err
		}
		if err := c.Write(d); err != nil {
			return err
		}
	}
	return nil
}
