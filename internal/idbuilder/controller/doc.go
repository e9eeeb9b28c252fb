// SPDX-License-Identifier: Apache-2.0

// Package controller registers the workers of an ID service: which of them live, their load and
// their addresses. It has both sides. A [Controller] serves
//
//	c, err := controller.New(s, controller.Options{Authorize: checkToken})
//	if err != nil {
//		return err
//	}
//	go c.Run(ctx) // the work that one of the controllers does for all
//	err = (&http.Server{Addr: ":8090", Handler: c.Handler()}).ListenAndServe()
//
// and a worker's [Client] registers there:
//
//	client, err := controller.NewClient(controller.ClientOptions{
//		Endpoints: []string{"http://controller-1:8090", "http://controller-2:8090"},
//		Token:     admin, Address: "http://worker-7:8080",
//	})
//	if err != nil {
//		return err
//	}
//	go client.Run(ctx)
//	state := client.State() // for /ready
//
// No ID depends on a controller: a worker that reaches no controller goes on giving IDs. No
// other worker gives them, since they are reserved in the store.
//
// # Worker ids
//
// A worker id is leased through package snowflake for [Options.Lease], and renewed
// by each heartbeat. The worker has it until the lease has passed on its own
// monotonic clock, counted from before it asked. No other worker gets the id for
// the same time again, because clocks of controllers may differ.
//
// # Live workers
//
// A worker lives while its document in the store changes. Each controller reads the documents, and
// measures with its own monotonic clock. So controllers agree whatever their wall clocks say, and
// any of them can be stopped. A controller that has just started assumes for the length of a lease
// that each worker lives, unless its last heartbeat is more than a lease away from the controller's wall
// clock. Such a worker may belong to the service from which the store was copied or restored: it is listed
// once it sends a heartbeat here.
//
// # Leader
//
// One of the controllers removes the documents of workers that are gone. It is elected by
// a lease on a document: a candidate takes over
// a document that it has seen unchanged for the length of a lease. Removing is by
// compare-and-set, so that two leaders, if a process was stopped at the wrong moment, do
// no harm.
//
// # Balancing
//
// GET /v1/controller/balance gives clients the addresses of workers that are ready, with
// weights by their load: see [Controller.Balance]. It needs no DNS and no proxy.
package controller
