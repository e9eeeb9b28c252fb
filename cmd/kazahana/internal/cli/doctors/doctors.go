// SPDX-License-Identifier: Apache-2.0

package doctors

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// The exit codes of an examination that found damage, and of one that found none, but could
// not examine everything.
const (
	ExitDamaged    = 5
	ExitIncomplete = 6
)

const about = `Examine a whole database, and say what to do about each finding: directories, headers of stores,
records, index entries, counts, tenants, leases of machine ids, elections, members, owners of virtual
actors, documents of the ID service. It needs no Go code of the types, writes nothing, and may run
beside programs that write. The last line counts what was examined.

Findings are damage, warnings or notices. The exit code is 5 if there is damage, and 6 if there is none,
but not everything could be examined (directory/not-examined). docs/operations.md lists all findings.
`

// flags are those of the verb.
type flags struct {
	path    string
	records bool
}

// Command returns kazahana doctor.
func Command(c *shell.Console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "doctor", Short: "Examine a whole database, and say what to do", Args: shell.Arguments(cobra.NoArgs),
		Long:    about + database.About,
		Example: "  kazahana doctor --db data\n  kazahana doctor --db data --path tenants/tenant-1 --json\n  kazahana doctor --cluster-file fdb.cluster --records=false",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return database.ReadKeys(cmd, func(ctx context.Context, db kv.Database) error { return examine(ctx, cmd, c, db, f) })
		},
	}
	cmd.Flags().StringVar(&f.path, "path", "", "only the directory at this `path`, and those below it")
	cmd.Flags().BoolVar(&f.records, "records", true, "compare records with their index entries")
	return cmd
}

func examine(ctx context.Context, cmd *cobra.Command, c *shell.Console, db kv.Database, f flags) error {
	path, err := database.ParsePath(cmd, f.path)
	if err != nil {
		return err
	}
	if err := checkPath(ctx, db, path); err != nil {
		return err
	}
	_, exclusive := db.(*embedded.Database)
	bar := c.StartProgress("keys", 0, shell.Things)
	var failed error
	r, err := doctor.Examine(ctx, db, doctor.Options{
		Path: path, SkipRecords: !f.records, Exclusive: exclusive,
		Progress: func(r doctor.Report) { bar.Set(r.Keys) },
	}, func(found doctor.Finding) { failed = errors.Join(failed, c.Write(newFinding(found))) })
	bar.Finish()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return errors.Join(c.Write(newSummary(r)), verdict(r))
}

// checkPath returns an error if there is no directory at the path, unless the path cannot be
// followed: the examination says why.
func checkPath(ctx context.Context, db kv.Database, path []string) error {
	if len(path) == 0 {
		return nil
	}
	if there, err := directory.Root().Exists(ctx, db, path); err != nil || there {
		return nil //nolint:nilerr // see above
	}
	return database.Missing(fmt.Errorf("there is no directory %s", database.QuotePath(path)))
}

// verdict returns the error with which the verb ends; nil if all was examined, and no damage found.
func verdict(r doctor.Report) error {
	switch {
	case r.Damage > 0:
		return &shell.ExitError{Code: ExitDamaged, Err: fmt.Errorf("the database is damaged in %d places: keep a copy of it as it is, then do what each finding says", r.Damage)}
	case r.NotExamined > 0:
		return &shell.ExitError{Code: ExitIncomplete, Err: fmt.Errorf("%d parts of the database could not be examined: the findings %s name them", r.NotExamined, doctor.NotExamined)}
	}
	return nil
}
