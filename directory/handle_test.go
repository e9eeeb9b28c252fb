// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// TestHandleOfARemovedPartition uses a handle after its partition is gone, and
// again when there is another at its path: verbs act on what is there now. The
// official layers keep the prefix of a partition in its handle and list what is
// left there: nothing, and no error.
func TestHandleOfARemovedPartition(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		ctx, root := context.Background(), directory.Root()
		create := func(child string) *directory.Directory {
			partition := mustDir(t)(root.CreateOrOpen(ctx, db, path("p"), directory.As(directory.Partition)))
			mustDir(t)(partition.CreateOrOpen(ctx, db, path(child)))
			return partition
		}
		kept := create("first")
		if err := root.Remove(ctx, db, path("p")); err != nil {
			t.Fatal(err)
		}
		if names, err := kept.List(ctx, db, nil); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("the removed partition lists %q, %v", names, err)
		}
		if exists, err := kept.Exists(ctx, db, nil); exists || err != nil {
			t.Errorf("the removed partition exists: %t, %v", exists, err)
		}
		create("second")
		if names, err := kept.List(ctx, db, nil); err != nil || !slices.Equal(names, path("second")) {
			t.Errorf("the partition at the path lists %q, %v", names, err)
		}
	})
}
