// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// diffFlags are the flags of schema diff.
type diffFlags struct {
	lock     string
	from, to int
}

// errDisagree makes the exit code tell of the differences that were written.
var errDisagree = errors.New("a program of the one must not use data of the other: the lines that begin with ! say why")

func diffCommand(c *shell.Console) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use: "diff PATH [OTHER]", Short: "Compare the schema of a store", Args: shell.Arguments(cobra.RangeArgs(1, 2)),
		Long: `Compare the schema of a store with that of another store, with a persist.lock (--lock), or two versions
of its history (--from, --to; without --to the present one). Lines begin with - for what only the
first has, + for what only the second has, ~ for changes that are allowed, with their consequences,
and ! for differences because of which programs refuse to use the store; then the exit code is 1.
` + database.AboutPaths + "\n" + database.About,
		Example: "  kazahana schema diff tenants/tenant-1/orders tenants/tenant-2/orders --db data\n" +
			"  kazahana schema diff tenants/tenant-1/orders --lock persist.lock --db data\n  kazahana schema diff tenants/tenant-1/accounts --from 1 --db data",
		ValidArgsFunction: database.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error { return f.run(ctx, cmd, c, db, args) })
		},
	}
	storearg.AddType(cmd)
	cmd.Flags().StringVar(&f.lock, "lock", "", "compare with the type in this `file`, a persist.lock")
	cmd.Flags().IntVar(&f.from, "from", 0, "compare from this `version` of the history")
	cmd.Flags().IntVar(&f.to, "to", 0, "compare to this `version` of the history")
	return cmd
}

// check returns an error unless exactly one thing is named to compare with.
func (f *diffFlags) check(cmd *cobra.Command, args []string) error {
	for flag, version := range map[string]int{"from": f.from, "to": f.to} {
		if cmd.Flags().Changed(flag) {
			if err := shell.AtLeast(cmd, flag, version, 1); err != nil {
				return err
			}
		}
	}
	n := 0
	for _, given := range []bool{len(args) == 2, f.lock != "", f.from > 0} {
		if given {
			n++
		}
	}
	if n != 1 || f.to > 0 && f.from == 0 {
		return shell.Misuse(cmd, errors.New("name one thing to compare with: another path, --lock, or --from and perhaps --to"))
	}
	return nil
}

func (f *diffFlags) run(ctx context.Context, cmd *cobra.Command, c *shell.Console, db *persistable.DB, args []string) error {
	s, err := storearg.Open(ctx, cmd, db, args[0])
	if err != nil {
		return err
	}
	history, err := s.Indexes().History(ctx)
	if err != nil {
		return err
	}
	d := &difference{there: "the first", here: "the second"}
	switch {
	case f.lock != "":
		err = d.readLock(f.lock, s, history[len(history)-1])
	case f.from > 0:
		err = d.takeVersions(history, f.from, f.to)
	default:
		err = d.takeStores(ctx, cmd, db, history[len(history)-1], args[1])
	}
	if err != nil {
		return err
	}
	return d.write(c)
}
