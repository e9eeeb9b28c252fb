// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

// recordPrefix begins the keys of workers' documents; the instance follows.
const recordPrefix = "worker."

// forgetAfter is how long the store keeps the document of a worker that is gone if
// no controller removes it. Clocks may differ by as much.
const forgetAfter = 24 * time.Hour

// conflicts bounds the attempts to change a document that others change as well.
const conflicts = 20

// saveWorker stores a worker's request in its document, unless that has a later one.
func (c *Controller) saveWorker(ctx context.Context, g snowflake.Grant, r Registration) error {
	w := Worker{WorkerID: g.WorkerID, Registration: r, Heartbeat: c.options.Now().UTC()}
	for n := range conflicts {
		doc, old, err := c.loadWorker(ctx, r.Instance)
		if err != nil || doc.Version != 0 && old.Sequence > r.Sequence {
			return err
		}
		if doc.Value, err = json.Marshal(w); err != nil {
			return err
		}
		doc.Expires = c.options.Now().Add(c.options.Lease + forgetAfter)
		_, err = c.store.Put(ctx, store.Workers, doc)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := sleep.For(ctx, rand.N(time.Millisecond<<min(n, 5))); err != nil {
			return err
		}
	}
	return fmt.Errorf("controller: worker %q: %w", r.Instance, store.ErrConflict)
}

// loadWorker returns the document of an instance, with version 0 if there is none.
func (c *Controller) loadWorker(ctx context.Context, instance string) (doc store.Document, w Worker, err error) {
	doc, err = c.store.Get(ctx, store.Workers, recordPrefix+instance)
	if errors.Is(err, store.ErrNotFound) {
		return store.Document{Key: recordPrefix + instance}, w, nil
	}
	if err == nil {
		w, err = decodeRecord(doc)
	}
	return doc, w, err
}

// removeWorker removes the document of an instance, if it has the worker id.
func (c *Controller) removeWorker(ctx context.Context, instance string, workerID int64) error {
	for range conflicts {
		doc, w, err := c.loadWorker(ctx, instance)
		if err != nil || doc.Version == 0 || w.WorkerID != workerID {
			return err
		}
		if err := c.store.Delete(ctx, store.Workers, doc.Key, doc.Version); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("controller: worker %q: %w", instance, store.ErrConflict)
}

func decodeRecord(doc store.Document) (w Worker, err error) {
	if err := json.Unmarshal(doc.Value, &w); err != nil || recordPrefix+w.Instance != doc.Key {
		return w, &store.CorruptError{Where: fmt.Sprintf("%s %q", store.Workers, doc.Key), Reason: "it is not what a controller wrote", Err: err}
	}
	return w, nil
}
