// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// ExitFaults is the exit code where indexes do not agree with their records: entries that
// are missing or wrong, records that share a unique value.
const ExitFaults = 5

const aboutStores = `
PATH is the directory of the records. Where it has records of several types, --type says which. An index
has the name that "index list" shows.
` + database.AboutPaths + "\n" + database.About

// Command returns kazahana index.
func Command(c *shell.Console) *cobra.Command {
	group := shell.Group("index", "List, build, check, mend and drop the indexes of records",
		listCommand(c), buildCommand(c), violationsCommand(c), verifyCommand(c), repairCommand(c), dropCommand(c))
	for _, cmd := range group.Commands() {
		storearg.AddType(cmd)
	}
	return group
}

// target is the store that a verb is about.
type target struct {
	*dynamic.Store
	path   []string
	schema *dynamic.Schema
}

// openTarget opens the store that a verb's first argument names.
func openTarget(ctx context.Context, cmd *cobra.Command, db *persistable.DB, text string) (*target, error) {
	path, err := database.ParsePath(cmd, text)
	if err != nil {
		return nil, err
	}
	s, err := storearg.Open(ctx, cmd, db, text)
	if err != nil {
		return nil, err
	}
	return &target{s, path, s.Schema()}, nil
}

// find returns the index with that name in keys. No other name is taken: a verb that is repeated
// must not reach another index.
func (t *target) find(name string) (ix dynamic.Index, err error) {
	var names []string
	for _, ix := range t.schema.Indexes {
		if ix.KeyName == name {
			return ix, nil
		}
		names = append(names, ix.KeyName)
	}
	return ix, database.Missing(fmt.Errorf("%s has no index %s; it has %s",
		t.where(), shell.Word(name), cmp.Or(strings.Join(names, ", "), "none")))
}

// where names the store for messages.
func (t *target) where() string { return t.schema.Type + " in " + database.QuotePath(t.path) }

// arguments name the store on a command line.
func (t *target) arguments() string {
	return database.QuotePath(t.path) + " --type " + shell.Argument(t.schema.Type)
}

// over opens the database and the store of a verb's first argument, and calls do.
func over(cmd *cobra.Command, path string, writes bool, do func(context.Context, *persistable.DB, *target) error) error {
	open := database.Read
	if writes {
		open = database.Write
	}
	return open(cmd, func(ctx context.Context, db *persistable.DB) error {
		t, err := openTarget(ctx, cmd, db, path)
		if err != nil {
			return err
		}
		return do(ctx, db, t)
	})
}

// overShown opens a store that was shown for writing, and calls do. It refuses another directory that
// was put at the path since.
func overShown(cmd *cobra.Command, shown *target, do func(context.Context, *target) error) error {
	return storearg.WriteShown(cmd, shown.Store, func(ctx context.Context, s *dynamic.Store) error {
		return do(ctx, &target{s, shown.path, s.Schema()})
	})
}

// complete completes the path, and then the name of an index.
func complete(cmd *cobra.Command, args []string, word string) (words []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) != 1 {
		return database.CompletePath(cmd, args, word)
	}
	database.Complete(cmd, func(ctx context.Context, db *persistable.DB) error {
		t, err := openTarget(ctx, cmd, db, args[0])
		if err != nil {
			return err
		}
		for _, ix := range t.schema.Indexes {
			words = append(words, ix.KeyName)
		}
		return nil
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}
