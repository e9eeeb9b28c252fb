// SPDX-License-Identifier: Apache-2.0

package placements

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// hostFlags are the flags of the directory of placement.
type hostFlags struct{ path string }

func (f *hostFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "path", "kazahana", "`directory` with the directories members and placement: Options.Path of the programs' hosts, with / between its elements")
}

// withActors opens the database for reading, calls do, and closes it.
func (f *hostFlags) withActors(cmd *cobra.Command, do func(context.Context, *actors) error) error {
	return database.ReadKeys(cmd, func(ctx context.Context, db kv.Database) error {
		p, err := f.openActors(db)
		if err != nil {
			return err
		}
		return errors.Join(do(ctx, p), p.unread)
	})
}

func (f *hostFlags) openActors(db kv.Database) (_ *actors, err error) {
	p := &actors{path: f.path, db: db}
	if p.members, err = membership.New(db, membership.Options{Path: f.pathOf("members")}); err != nil {
		return nil, err
	}
	p.rows, err = kvstore.New(db, kvstore.Options{Members: p.members, Path: f.pathOf("placement")})
	return p, err
}

// pathOf returns the path of a directory below that of the flags.
func (f *hostFlags) pathOf(name string) []string {
	return append(strings.Split(f.path, "/"), name)
}
