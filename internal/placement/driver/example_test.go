// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// accounts makes activations of accounts; a real one would load and save them
// under the epoch.
type accounts struct{}

func (accounts) EnsureActivation(_ context.Context, c core.EnsureActivation) (core.ActivationRecord, error) {
	fmt.Println("open", c.Key, "in epoch", c.Epoch)
	return core.ActivationRecord{PID: "bank-1/" + c.Key.ID}, nil
}

func (accounts) Deactivate(_ context.Context, c core.Deactivate) error {
	fmt.Println("close", c.Key, "in epoch", c.Epoch)
	return nil
}

// One member resolves two keys: one that it can activate, and one of a kind that no
// member has.
func Example() {
	ctx := context.Background()
	self := placement.Owner{Name: "bank-1", Incarnation: 1}
	coordinator, err := core.NewCoordinator(core.Options{Self: self, Address: "10.0.0.1:4000"})
	if err != nil {
		panic(err)
	}
	home, err := memory.New(memory.Options{})
	if err != nil {
		panic(err)
	}
	d, err := driver.New(coordinator, driver.Homes{Lock: home, Storage: home, Executor: accounts{}}, driver.Options{})
	if err != nil {
		panic(err)
	}
	member := placement.Member{Owner: self, Address: "10.0.0.1:4000", Kinds: []string{"account"}}
	if err := errors.Join(d.StartMember(member.Kinds), d.UpdateTopology(placement.Topology{Version: 1, Members: []placement.Member{member}})); err != nil {
		panic(err)
	}

	for range 2 {
		r, err := d.Resolve(ctx, placement.Key{Kind: "account", ID: "alice"})
		fmt.Println(r.Locality == core.Local, r.PID, r.Epoch, err)
	}
	_, err = d.Resolve(ctx, placement.Key{Kind: "invoice", ID: "7"})
	fmt.Println(err)
	fmt.Println(d.Stop(ctx))

	// Output:
	// open account/alice in epoch 1
	// true bank-1/alice 1 <nil>
	// true bank-1/alice 1 <nil>
	// placement: no member can activate the key: invoice/7 in topology 1: none of the 1 members activates the kind
	// close account/alice in epoch 1
	// <nil>
}
