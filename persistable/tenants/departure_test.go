// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// A sweep reads the directories of a tenant in one transaction: in rounds by the level, since
// a round for each of a thousand directories takes a cluster longer than five seconds. A
// partition comes without what is in it.
func TestSweepReadsDirectoriesTogether(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	e := faults.NewCounter(enginetest.Open(t))
	db, err := persistable.Open(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	path := []string{"kazahana", "tenants", "/tenants", "removed", "t", "id"}
	err = e.Transact(ctx, func(tx kv.Transaction) error {
		for i := range 100 {
			if _, err := root.CreateOrOpen(ctx, tx, append(path[:6:6], "projects", fmt.Sprint(i))); err != nil {
				return err
			}
		}
		_, err := root.CreateOrOpen(ctx, tx, append(path[:6:6], "part", "inside"), directory.ElementAs(6, directory.Partition))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var read tree
	c, err := e.Measure(func() (err error) {
		read, err = sweep{Of(db, "tenants"), path}.readTree(ctx)
		return err
	})
	if err != nil || len(read) != 103 || c.Rounds > 25 {
		t.Errorf("%d directories, want 103, in %d rounds, want at most 25: %v", len(read), c.Rounds, err)
	}
}
