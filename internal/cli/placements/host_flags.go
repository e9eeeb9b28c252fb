// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// hostFlags say where placement keeps what it knows.
type hostFlags struct {
	databaseFlags
	path string
}

func (f *hostFlags) add(cmd *cobra.Command) {
	f.databaseFlags.add(cmd)
	cmd.Flags().StringVar(&f.path, "path", "kazahana", "`directory` with the directories members and placement: Options.Path of the programs' hosts, with / between its elements")
}

// with opens the database, calls do, and closes it.
func (f *hostFlags) with(cmd *cobra.Command, do func(context.Context, actors) error) error {
	return f.databaseFlags.with(cmd, func(ctx context.Context, db kv.Database) error {
		p, err := f.open(db)
		if err != nil {
			return err
		}
		return do(ctx, p)
	})
}

func (f *hostFlags) open(db kv.Database) (p actors, err error) {
	p.path, p.db = f.path, db
	if p.members, err = membership.New(db, membership.Options{Path: f.below("members")}); err != nil {
		return p, err
	}
	p.rows, err = kvstore.New(db, kvstore.Options{Members: p.members, Path: f.below("placement")})
	return p, err
}

// below returns the path of a directory below that of the flags.
func (f *hostFlags) below(name string) []string {
	return append(strings.Split(f.path, "/"), name)
}
