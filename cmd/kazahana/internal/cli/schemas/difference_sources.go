// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// readLock compares a store with a file.
func (d *difference) readLock(name string, s *dynamic.Store, now persistable.SchemaVersion) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lock, faults := schema.ParseLock(content)
	if len(faults) > 0 {
		return shell.Invalid(fmt.Errorf("%s: line %d: %s", name, faults[0].Line, faults[0].Message))
	}
	typ := s.Schema().Type
	one := lock.OfType(typ)
	if block := lock.Block(typ); one == nil || block == nil || !block.IsType || block.Removed {
		return database.Missing(fmt.Errorf("%s has no type %s", name, typ))
	}
	d.there, d.here = "the store", name
	d.was, d.now = parsed(now), one
	d.wasIndexes, d.nowIndexes = signatures(now), map[string]string{}
	for _, ix := range lock.Block(typ).Indexes {
		if !ix.Removed {
			d.nowIndexes[ix.Name] = ix.Signature
		}
	}
	return nil
}

// takeVersions compares two versions of a store's history.
func (d *difference) takeVersions(history []persistable.SchemaVersion, from, to int) error {
	if to == 0 {
		to = len(history)
	}
	if from > len(history) || to > len(history) {
		return database.Missing(fmt.Errorf("the history has %d versions", len(history)))
	}
	d.there, d.here, d.succession = fmt.Sprintf("version %d", from), fmt.Sprintf("version %d", to), true
	d.take(history[from-1], history[to-1])
	return nil
}

// takeStores compares a store with that at another path.
func (d *difference) takeStores(ctx context.Context, cmd *cobra.Command, db *persistable.DB, now persistable.SchemaVersion, path string) error {
	other, err := storearg.Open(ctx, cmd, db, path)
	if err != nil {
		return err
	}
	history, err := other.Indexes().History(ctx)
	if err != nil {
		return err
	}
	d.take(now, history[len(history)-1])
	return nil
}
