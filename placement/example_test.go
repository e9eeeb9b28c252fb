// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// A coordinator hands out commands and takes their results. Package host does
// this for a program.
func Example() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	self := placement.Owner{Name: "a", Incarnation: 1}
	c, err := placement.NewCoordinator(placement.Options{Self: self, Address: "10.0.0.1:7000"})
	if err != nil {
		panic(err)
	}
	if _, err := c.StartMember([]string{"account"}, now); err != nil {
		panic(err)
	}
	members := []placement.Member{{Owner: self, Address: "10.0.0.1:7000", Kinds: []string{"account"}}}
	if _, err := c.UpdateTopology(placement.Topology{Version: 1, Members: members}, now); err != nil {
		panic(err)
	}
	out, err := c.Resolve(placement.Key{Kind: "account", ID: "alice"}, now)
	for err == nil && len(out.Commands) > 0 {
		fmt.Printf("%T\n", out.Commands[0])
		out, err = c.HandleCommandResult(execute(out.Commands[0]), now)
	}
	r := out.Answers[0].Resolution
	fmt.Println(r.Decision.Key, r.Locality, r.Owner, r.Epoch, r.PID)
	// Output:
	// placement.TryAcquire
	// placement.EnsureActivation
	// placement.StoreActivation
	// account/alice local a#1 1 alice's mailbox
}

// execute executes a command in a home in which the claim is the activation.
func execute(cmd placement.Command) placement.CommandResult {
	id, key := cmd.Correlation()
	switch cmd := cmd.(type) {
	case placement.TryAcquire:
		return placement.LockAcquired{RequestID: id, Key: key, Lease: placement.Lease{Key: key, Owner: cmd.Owner, Request: id, Epoch: 1, Kept: true, Loaded: true}}
	case placement.EnsureActivation:
		return placement.ActivationEnsured{RequestID: id, Key: key, Epoch: cmd.Epoch, Record: placement.ActivationRecord{PID: "alice's mailbox"}}
	case placement.StoreActivation:
		return placement.ActivationStored{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch}
	case placement.Deactivate:
		return placement.ActivationDeactivated{RequestID: id, Key: key, Epoch: cmd.Epoch}
	case placement.RemoveActivation:
		return placement.ActivationRemoved{RequestID: id, Key: key, Epoch: cmd.Epoch}
	}
	panic(fmt.Sprintf("unexpected %#v", cmd))
}

func ExampleRendezvous() {
	c := placement.Candidates{Members: []placement.Member{
		{Owner: placement.Owner{Name: "a", Incarnation: 1}}, {Owner: placement.Owner{Name: "b", Incarnation: 1}}, {Owner: placement.Owner{Name: "c", Incarnation: 1}},
	}}
	for _, id := range []string{"alice", "bob", "carol", "dave"} {
		i := placement.Rendezvous{}.Choose(placement.Key{Kind: "account", ID: id}, c)
		fmt.Println(id, c.Members[i].Name)
	}
	// Output:
	// alice a
	// bob c
	// carol b
	// dave a
}
