// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/placement"
)

// A member claims a key and writes under its fence. Once it has died and another has
// claimed the key, its writes are refused.
func ExampleStore() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	home, err := kvstore.New(db, kvstore.Options{Members: alive{"bank-1": 1, "bank-2": 1}})
	if err != nil {
		log.Fatal(err)
	}
	key := placement.Key{Kind: "account", ID: "alice"}
	first, second := placement.Owner{Name: "bank-1", Incarnation: 1}, placement.Owner{Name: "bank-2", Incarnation: 1}
	lease, err := home.TryAcquire(ctx, core.TryAcquire{RequestID: 1, Key: key, Owner: first, Address: "10.0.0.1:80"})
	if err != nil {
		log.Fatal(err)
	}
	deposit := func(tx kv.Transaction) error {
		tx.Set([]byte("balance of alice"), []byte("100"))
		return nil
	}
	fence := home.Fence(key, first, lease.Epoch)
	fmt.Println(fence.Under(db).Transact(ctx, deposit))

	_, err = home.TryAcquire(ctx, core.TryAcquire{RequestID: 1, Key: key, Owner: second})
	fmt.Println(err)

	home, err = kvstore.New(db, kvstore.Options{Members: alive{"bank-2": 1}}) // bank-1 has died
	if err != nil {
		log.Fatal(err)
	}
	lease, err = home.TryAcquire(ctx, core.TryAcquire{RequestID: 2, Key: key, Owner: second})
	fmt.Println("epoch", lease.Epoch, err)
	err = fence.Under(db).Transact(ctx, deposit)
	fmt.Println(errors.Is(err, placement.ErrActivationLost), err)
	// Output:
	// <nil>
	// placement: the lock of account/alice, which bank-1#1 has under epoch 1: placement: another owner has the key
	// epoch 2 <nil>
	// true leasefdb: the lease is lost: account/alice under epoch 1: placement: the lease is not in force any more: bank-2#1 has the key under epoch 2
}

// alive has the live members and their incarnations. In a program, package
// placement/membership is the [kvstore.Liveness].
type alive map[string]int64

func (a alive) StartAlive(_ context.Context, _ kv.ReadTransaction, owner placement.Owner) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) { return a[owner.Name] == owner.Incarnation, nil }
}
