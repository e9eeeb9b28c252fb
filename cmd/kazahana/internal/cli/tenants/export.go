// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func exportCommand(c *shell.Console) *cobra.Command {
	var lock bool
	cmd := &cobra.Command{
		Use: "export PATH [FILE]", Short: "Write a tenant to a file or the output", Args: shell.Arguments(cobra.RangeArgs(1, 2)),
		Long: `Write a tenant, in one state, to a file that does not exist, or without a file, or with -, to the
output. kazahana tenant import reads it into any database, embedded or cluster, under any name. The file
appears when it is complete.

A locked tenant is read under its lock, which stays. One that is not locked is read at one version, which
is possible for five seconds: enough for some ten megabytes. With --lock, programs cannot write to it
meanwhile; the database is opened for writing then. What they write afterwards is not in the file: to
move a tenant, first lock it by kazahana tenant lock.
` + aboutTenants,
		Example:           "  kazahana tenant export tenants/tenant-1 tenant-1.export --lock --db data\n  kazahana tenant export tenants/tenant-1 --db data | zstd > tenant-1.zst",
		ValidArgsFunction: completeFileBehind,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseAddress(cmd, args[0])
			if err != nil {
				return err
			}
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			if file == "-" && c.WritesTerminal() {
				return shell.Misuse(cmd, errors.New("the export is no text for a terminal: name a file, or redirect the output"))
			}
			open := database.Read
			if lock {
				open = database.Write
			}
			return open(cmd, func(ctx context.Context, db *persistable.DB) error {
				return at.explain(ctx, db, export(ctx, c, db, at, file, lock))
			})
		},
	}
	addLock(cmd, &lock)
	return cmd
}

// completeFileBehind completes a path, and then a file.
func completeFileBehind(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return database.CompletePath(cmd, args, word)
}

func export(ctx context.Context, c *shell.Console, db *persistable.DB, at address, file string, lock bool) error {
	exists, err := at.of(db).Exists(ctx, at.name)
	if err == nil && !exists {
		err = tenants.ErrNotFound
	}
	if err != nil {
		return err
	}
	var p tenants.Progress
	write := func(w io.Writer) error {
		return at.whileLocked(ctx, db, lock, "kazahana tenant export", func(l tenants.Lock) (err error) {
			show := startProgress(ctx, c, db, at, "exporting "+at.String())
			defer show.Finish()
			p, err = at.of(db).Export(ctx, at.name, w, tenants.ExportOptions{Lock: l, Progress: func(p tenants.Progress) { show.Set(p.Bytes) }})
			return err
		})
	}
	if file == "-" {
		return write(c.Raw())
	}
	if err := writeFile(file, write, shell.SyncFolder); err != nil {
		return err
	}
	return c.Write(changeResult{"exported", at.text(), file, p.Pairs, p.Bytes})
}
