// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/uptime"
)

// refreshView reads the documents, unless they were read within maxAge. The caller
// holds the lock.
func (c *Controller) refreshView(ctx context.Context, maxAge time.Duration) error {
	v, begun := c.view, c.view.now()
	if v.known && begun-v.read < maxAge {
		return nil
	}
	seen := map[string]observation{}
	for after := ""; ; {
		docs, err := c.store.List(ctx, store.Workers, store.ListOptions{Prefix: recordPrefix, After: after})
		if err != nil {
			return err
		}
		for _, doc := range docs {
			after = doc.Key
			c.observeDocument(seen, doc, begun)
		}
		if len(docs) == 0 {
			break
		}
	}
	v.seen, v.read, v.known = seen, begun, true
	return nil
}

// observeDocument adds a document to seen.
func (c *Controller) observeDocument(seen map[string]observation, doc store.Document, now time.Duration) {
	last, known := c.view.seen[doc.Key]
	if known && last.version == doc.Version {
		seen[doc.Key] = last
		return
	}
	w, err := decodeRecord(doc)
	if err != nil {
		c.options.Logger.Error("controller: a worker's document is left out", "error", err)
		return
	}
	seen[doc.Key] = observation{version: doc.Version, since: now, worker: w, leftover: !c.view.known && c.isLeftover(w)}
}

// isLeftover reports whether the last heartbeat of a worker is more than a lease away from now. In the
// first read of a controller such a document is of a worker that is gone, or of one that sends its heartbeats
// to the service from which the store was copied. If it is only that clocks differ, its next heartbeat tells.
func (c *Controller) isLeftover(w Worker) bool {
	return c.options.Now().Sub(w.Heartbeat).Abs() > c.options.Lease
}

// liveWorkers returns the workers that live, in the order of their worker ids.
func (c *Controller) liveWorkers(ctx context.Context) ([]Worker, error) {
	unlock, err := c.view.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := c.refreshView(ctx, c.options.Heartbeat/10); err != nil {
		return nil, err
	}
	workers, now := []Worker{}, c.view.now()
	for _, s := range c.view.seen {
		if !s.leftover && now-s.since < c.options.Lease {
			workers = append(workers, s.worker)
		}
	}
	slices.SortFunc(workers, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(a.WorkerID, b.WorkerID), cmp.Compare(a.Instance, b.Instance))
	})
	return workers, nil
}

// removeDead removes the documents of workers that have been dead for the length of a lease.
func (c *Controller) removeDead(ctx context.Context) error {
	unlock, err := c.view.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.refreshView(ctx, 0); err != nil {
		return err
	}
	now := c.view.now()
	for key, s := range c.view.seen {
		if now-s.since < 2*c.options.Lease {
			continue
		}
		err := c.store.Delete(ctx, store.Workers, key, s.version)
		if isConflict(err) {
			continue // it is back
		}
		if err != nil {
			return err
		}
		c.options.Logger.Info("controller: a worker is gone", "worker_id", s.worker.WorkerID, "instance", s.worker.Instance, "address", s.worker.Address)
	}
	return nil
}

// view has this controller's observations of the workers' documents. A worker lives while
// its document changes, by this machine's clock alone. A controller that has just started
// assumes for the length of a lease that workers live which are no leftovers.
type view struct {
	clock uptime.Clock
	turn  chan struct{} // holds one value while the documents are read
	seen  map[string]observation
	read  time.Duration // when seen was read last
	known bool          // it was read
}

// observation is a document as this controller last saw it.
type observation struct {
	version  int64
	since    time.Duration // when it was first seen with the version
	worker   Worker
	leftover bool // the worker is not taken for alive before the version changes
}

func newView() *view {
	return &view{clock: uptime.New(), turn: make(chan struct{}, 1), seen: map[string]observation{}}
}

// now returns the monotonic time.
func (v *view) now() time.Duration { return v.clock.Elapsed(time.Now()) }

// lock waits until no other goroutine uses the view.
func (v *view) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case v.turn <- struct{}{}:
		return func() { <-v.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
