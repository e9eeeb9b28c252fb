// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// A coordinator hands out commands and takes their results. Package host does
// this for a program.
func Example() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	self := placement.Owner{Name: "a", Incarnation: 1}
	c, err := core.NewCoordinator(core.Options{Self: self, Address: "10.0.0.1:7000"})
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
	// core.TryAcquire
	// core.EnsureActivation
	// core.StoreActivation
	// account/alice local a#1 1 alice's mailbox
}

// execute executes a command in a home in which the claim is the activation.
func execute(cmd core.Command) core.CommandResult {
	id, key := cmd.Correlation()
	switch cmd := cmd.(type) {
	case core.TryAcquire:
		return core.LockAcquired{RequestID: id, Key: key, Lease: core.Lease{Key: key, Owner: cmd.Owner, Request: id, Epoch: 1, Kept: true, Loaded: true}}
	case core.EnsureActivation:
		return core.ActivationEnsured{RequestID: id, Key: key, Epoch: cmd.Epoch, Record: core.ActivationRecord{PID: "alice's mailbox"}}
	case core.StoreActivation:
		return core.ActivationStored{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch}
	case core.Deactivate:
		return core.ActivationDeactivated{RequestID: id, Key: key, Epoch: cmd.Epoch}
	case core.RemoveActivation:
		return core.ActivationRemoved{RequestID: id, Key: key, Epoch: cmd.Epoch}
	}
	panic(fmt.Sprintf("unexpected %#v", cmd))
}
