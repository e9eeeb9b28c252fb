// SPDX-License-Identifier: Apache-2.0

// Package client gets IDs from the ID service.
//
//	ids, err := client.New(client.Options{URLs: []string{"http://localhost:8080"}, Token: token})
//	if err != nil {
//		return err
//	}
//	defer ids.Close()
//	order, err := ids.Increment("orders").Next(ctx)   // 1001
//	bill, err := ids.Formatted("bills").Next(ctx)     // "INV20261122-0001"
//	event, err := ids.Snowflake("events").Next(ctx)   // made here, from a leased worker id
//
// # Segments
//
// The handles of increment and formatted keys fetch IDs ahead, up to 1000 with one request, and give
// them from memory. They begin with 16, and fetch more when half of them are given. Each time that a
// caller has to wait they double how many they fetch ahead, up to [Options.Ahead]; when the IDs last
// long they fetch fewer again. IDs that were fetched and not given when the program ends are gaps.
//
// # Order
//
// The IDs of an increment key strictly increase, or strictly decrease if the key's step is negative: an ID
// is beyond every ID that the handle returned before the call began. Several workers each have
// a range of their own, so when another worker answers, its numbers may lie before
// those given already. The handle then leaves them out, and they are gaps. If a balancer
// spreads requests over workers, the handle would leave out many IDs: set
// [Options.AnyOrder]. IDs are unique either way.
//
// # Snowflake IDs
//
// A [Snowflake] leases a worker id and makes IDs without the network. The service
// never leases a worker id for overlapping times, and a Snowflake makes no ID
// with a timestamp outside of its lease. So IDs are unique even if clocks are wrong. It
// renews the lease after a third of its duration. After the lease has ended it makes no
// ID until it has another one.
//
// # Failures
//
// The client repeats a request that is refused for a while (429, 502, 503, 504), that loses its
// connection, or that gets half an answer: at once on the next of several URLs, and after an exponentially
// growing pause with jitter on the same one. No idempotency key is needed: if the
// answer was lost, the request has only used up numbers, which are gaps. Errors are a
// [*RequestError] with the code and the status of the service's answer; use errors.Is
// with [ErrExhausted], [ErrNotFound] and the others for its code.
//
// # Concurrency
//
// Everything in this package is safe for concurrent use.
package client
