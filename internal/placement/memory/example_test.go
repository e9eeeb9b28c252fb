// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// Two owners claim one key: the first has it until its lock lapses, and is refused
// from then on.
func Example() {
	ctx := context.Background()
	home, err := memory.New(memory.Options{TTL: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	key := placement.Key{Kind: "account", ID: "alice"}
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	claim := func(name string, now time.Time) (core.Lease, error) {
		return home.TryAcquire(ctx, core.TryAcquire{RequestID: 1, Key: key, Owner: placement.Owner{Name: name, Incarnation: 1}, Address: name + ":4000", Now: now})
	}

	first, err := claim("a", noon)
	fmt.Println(first.Owner, "epoch", first.Epoch, err)
	_, err = claim("b", noon.Add(9*time.Second))
	fmt.Println(err)
	second, err := claim("b", noon.Add(10*time.Second))
	fmt.Println(second.Owner, "epoch", second.Epoch, err)
	err = home.Store(ctx, first, core.ActivationEntry{Owner: first.Owner, Epoch: first.Epoch, ObservedAt: noon})
	fmt.Println(errors.Is(err, placement.ErrStale))

	// Output:
	// a#1 epoch 1 <nil>
	// placement: the lock of account/alice, which a#1 has under epoch 1: placement: another owner has the key
	// b#1 epoch 2 <nil>
	// true
}
