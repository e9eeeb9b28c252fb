// SPDX-License-Identifier: Apache-2.0

// Package driver executes the decisions of a [core.Coordinator], with a lock,
// a storage and an executor of the program.
//
//	coordinator, err := core.NewCoordinator(core.Options{Self: self, Address: "10.0.0.1:4000"})
//	d, err := driver.New(coordinator, driver.Homes{Lock: home, Storage: home, Executor: executor}, driver.Options{})
//	err = d.StartMember([]string{"account"})
//	go d.Run(ctx)                                  // time-outs, passivation, moves
//	err = d.UpdateTopology(topology)               // whenever members come or go
//	r, err := d.Resolve(ctx, placement.Key{Kind: "account", ID: "alice"})
//	if r.Locality == core.Local {
//		… // alice is active here, under r.Epoch
//	}
//	err = d.Stop(ctx)                              // hands back everything
//
// # Commands
//
// The driver executes up to Options.Concurrency commands at once, each under
// Options.CommandTimeout. A home or an executor that panics, calls runtime.Goexit
// or does not return in time has failed: the request ends with a [PanicError] or a
// [HungError], and the driver gives back what it has acquired. A goroutine that
// does not return cannot be ended; if it returns late, the driver gives back its
// result as well. Options.MaxHung bounds the number of such goroutines.
//
// # Events
//
// The driver passes each event to Options.Events once, in the order of the
// coordinator's decisions, soon after the call that it belongs to, and perhaps
// after that call has returned. While the handler runs, later events wait, but
// neither resolves nor commands do. Only when Options.EventBuffer events wait, new
// resolves wait for the handler, for at most Options.CommandTimeout; then they fail
// with placement.ErrOverloaded. No event is dropped, so a handler that is always
// too slow slows resolves down to its pace. A handler may call the driver, but
// should not wait for something that waits for events. A panic of the handler is
// logged; the handler then gets the next event.
//
// # Topologies
//
// Many changes in a short time are applied as one: see [Driver.UpdateTopology]. An
// activation that belongs to another member by a newer topology moves when it is
// used next, and core.Options.MovesPerTick others with each tick.
//
// # Calls
//
// The driver sends no calls, and does not see them. It keeps the location of a key until
// the owner leaves the topology or a newer epoch is known, so a location may be wrong after
// a move or a partition. The program that sends calls tells the driver, by these rules:
//
//   - A call that was sent on carries the owners of the members that it went through, and
//     the holder that the last of them took it to go to. The receiver resolves with
//     [Driver.ResolveForwarded]: by Resolve alone, two members that each take the other
//     for the owner would send the call to each other for ever.
//   - A receiver that does not have the key calls [Driver.Forget] with the holder that the
//     call carries, if that has an epoch. Otherwise a claim that a home has for this
//     member by mistake would keep the key from all others.
//   - A member never sends a call to a member that it went through already. It refuses the
//     call, and so does each sender before it. So a call is sent on less often than there
//     are members; a lower limit is good practice (package host permits two times).
//   - A sender of a call that was refused, or could not be delivered, calls Forget with the
//     holder of its resolution, and [Driver.Learn] if a reply names the member that
//     handled the call. The first caller resolves again, after a pause.
//
// Each refused attempt so corrects the locations on its way that were wrong. Attempts go on
// to fail while topologies differ and strategies choose two members for a key, and while a
// member hands a key back. A call is never handled by two members.
//
// # Concurrency
//
// All methods are safe for concurrent use. The driver has one mutex, which it holds
// while the coordinator decides, and never while it calls a home, an executor or a handler.
package driver
