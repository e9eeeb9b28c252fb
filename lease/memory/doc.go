// SPDX-License-Identifier: Apache-2.0

// Package memory leases machine ids from the memory of this process: for tests,
// and for a lease server whose clients can wait while it starts.
//
//	provider, err := memory.New(memory.Options{})
//	if err != nil {
//		return err
//	}
//	leases, err := provider.Acquire(ctx, idgen.AcquireRequest{ServiceID: "orders"})
//	if err != nil {
//		return err
//	}
//	err = provider.Release(ctx, leases[0].Release("orders", leases[0].Created-1, time.Now()))
//
// Nothing outlives the process. A server whose clients are other processes sets
// [Options.Restarted], so that it does not grant again what they still hold.
//
// Everything in this package is safe for concurrent use.
package memory
