// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

func buildCommand(c *shell.Console) *cobra.Command {
	o := persistable.BuildOptions{Workers: 1, Share: 0.5}
	cmd := &cobra.Command{
		Use: "build PATH [INDEX]", Short: "Build the indexes that are not readable, or one anew", Args: shell.Arguments(cobra.RangeArgs(1, 2)),
		Long: `Build the indexes of a store that are not readable, beside programs that read and write. Any number of
processes may do it together; after an interruption, another call goes on.

With INDEX, remove the entries of that index first, and build it anew, with those that are not readable.
Queries on a readable index are refused meanwhile, so the command asks.

Records that share the values of a unique index keep it from being completed: they are listed, and the
exit code is 5. Change or remove all but one of each, and build again; "index violations" lists the rest.
` + aboutStores,
		Example:           "  kazahana index build tenants/tenant-1/orders --db data --workers 4 --share 1\n  kazahana index build events Event_Tenant_At --db data --yes",
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(shell.AtLeast(cmd, "workers", o.Workers, 1), shell.AtLeast(cmd, "share", o.Share, 0.01), shell.AtLeast(cmd, "bytes-per-second", o.BytesPerSecond, 0)); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return shell.Misuse(cmd, err)
			}
			if len(args) == 1 {
				return over(cmd, args[0], true, func(ctx context.Context, _ *persistable.DB, t *target) error { return build(ctx, c, t, "", o) })
			}
			store, name, err := confirmRebuild(cmd, c, args)
			if err != nil {
				return err
			}
			return overShown(cmd, store, func(ctx context.Context, t *target) error { return build(ctx, c, t, name, o) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Workers, "workers", o.Workers, "`number` of goroutines that build")
	flags.Float64Var(&o.Share, "share", o.Share, "the `part` of its time, from 0.01 to 1, that each of them works")
	flags.IntVar(&o.BytesPerSecond, "bytes-per-second", 0, "`limit` of what they read and write; 0: none")
	shell.AddYes(cmd)
	return cmd
}

// confirmRebuild returns the store, and the name in keys of the index that the arguments name, which
// may be built anew.
func confirmRebuild(cmd *cobra.Command, c *shell.Console, args []string) (shown *target, keyName string, err error) {
	err = over(cmd, args[0], false, func(_ context.Context, _ *persistable.DB, t *target) error {
		shown = t
		ix, err := t.find(args[1])
		if err != nil {
			return err
		}
		if ix.Foreign != "" {
			return fmt.Errorf("the index %s of %s can be built only by a program with the Go code of the type: %s", ix.KeyName, t.where(), ix.Foreign)
		}
		keyName = ix.KeyName
		if ix.State != index.Readable {
			return nil
		}
		lines := []string{fmt.Sprintf("%s of %s is readable: queries on it are refused until it is built anew.", ix.KeyName, t.where())}
		return c.Confirm(cmd, lines, "Build it anew?")
	})
	return shown, keyName, err
}

// build builds all indexes or, if there is a name, the index with that name in keys anew.
func build(ctx context.Context, c *shell.Console, t *target, keyName string, o persistable.BuildOptions) error {
	do := t.Indexes().BuildWith
	if keyName != "" {
		if _, err := t.find(keyName); err != nil {
			return err // it was dropped since it was shown; another one may have its name by itself
		}
		do = func(ctx context.Context, o persistable.BuildOptions) error {
			return t.Indexes().RebuildWith(ctx, keyName, o)
		}
	}
	bar := newBar(c, "building "+t.where())
	o.Progress = bar.show
	err := do(ctx, o)
	bar.finish()
	return errors.Join(writeBuilt(c, t, bar.last, err), explainViolations(c, t, err))
}

// writeBuilt says what was built, unless the build failed.
func writeBuilt(c *shell.Console, t *target, last persistable.BuildProgress, err error) error {
	if err != nil {
		return nil
	}
	return c.Write(buildResult{Path: database.FormatPath(t.path), Type: t.schema.Type, Records: last.Records, Bytes: last.Bytes})
}

// buildResult says that the indexes of a store are readable.
type buildResult struct {
	Path    string `json:"path"`
	Type    string `json:"type"`
	Records int64  `json:"records"` // that this build read
	Bytes   int64  `json:"bytes"`
}

// Lines implements [shell.Result].
func (b buildResult) Lines() []string {
	return []string{fmt.Sprintf("the indexes of %s in %s are built: %d records, %d bytes", b.Type, b.Path, b.Records, b.Bytes)}
}

// explainViolations lists violations that ended a build.
func explainViolations(c *shell.Console, t *target, err error) error {
	taken, ok := errors.AsType[*persistable.NotUniqueError](err)
	if !ok {
		return err
	}
	var names []string
	for _, v := range taken.Violations {
		if err := c.Write(newViolation(t.schema, v)); err != nil {
			return err
		}
		if !slices.Contains(names, v.Index) {
			names = append(names, v.Index)
		}
	}
	more := ""
	if taken.More {
		more = fmt.Sprintf("; these are the first ones, and all are listed by kazahana index violations %s %s", t.arguments(), names[len(names)-1])
	}
	return &shell.ExitError{Code: ExitFaults, Err: fmt.Errorf("records of %s share values of the unique index %s%s", t.where(), strings.Join(names, ", "), more)}
}
