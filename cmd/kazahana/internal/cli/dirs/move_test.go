// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestMoveOfManyDirectories: the transaction of a move must end within five seconds on a cluster,
// so its rounds of reads do not grow with the directories.
func TestMoveOfManyDirectories(t *testing.T) {
	w := newWorld(t)
	for i := range 100 {
		w.Create("a", fmt.Sprint(i))
	}
	counted := faults.NewCounter(w.Engine)
	w.Must(counted.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		all, err := w.DB.Layer().Subtree(t.Context(), tx, []string{"a"})
		if err != nil {
			return err
		}
		return checkNewStores(t.Context(), tx, all, []string{"a"}, []string{"b"})
	}))
	if rounds := counted.Counts().Rounds; rounds > 10 {
		t.Errorf("%d rounds", rounds)
	}
}
