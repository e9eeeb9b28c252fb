// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// Commit reads what the request's atomic operations need and queues the request. It
// does not wait. The committer commits it after a call of Drive, and tells the outcome
// to the request's Finisher, from any goroutine, possibly before Commit returns.
func (c *Committer) Commit(r *txn.Request) {
	cr, _ := c.requests.Get().(*request)
	if cr == nil {
		cr = &request{}
	}
	cr.Request = r
	c.submitWithInputs(cr)
}

// submitWithInputs submits a request once memory has the inputs of its atomic
// operations: at once if it has them already. It does not wait.
func (c *Committer) submitWithInputs(r *request) {
	if c.window.InMemory() {
		c.submit(r)
		return
	}
	v := c.head.Newest()
	cold, err := r.gatherInputs(v)
	switch {
	case err != nil:
		c.refuse(r, err)
	case cold == 0:
		c.submitWeighed(r)
	default:
		c.fetchInputs(r, v, cold)
	}
}

// submitWeighed estimates the size of the results of a request from its inputs, which are
// known, and submits it. A request with few results is not estimated.
func (c *Committer) submitWeighed(r *request) {
	if r.keeping() > fewResults {
		r.results = r.resultBytes(func([]byte) int { return 0 })
	}
	c.submit(r)
}

// fewResults is how many results of atomic operations need not be counted.
const fewResults = 8

// fetchInputs lets goroutines read the inputs that are not at hand. The last of
// them submits the request. Requests that wait for that are bounded as those in
// the queue are.
func (c *Committer) fetchInputs(r *request, v *mvcc.View, cold int) {
	kept := r.kept()
	if waiting := c.fetching.Add(kept); c.queue.limit > 0 && waiting > max(c.queue.limit, kept) {
		c.fetching.Add(-kept)
		c.refuse(r, c.tooMany(waiting-kept))
		return
	}
	r.inputs.missing.Store(int64(cold))
	values := r.inputs.values // r belongs to the last read once that has started
	for i := 0; cold > 0; i++ {
		if values[i].cold {
			cold--
			c.readers.Start(&inputFetch{c, r, v, &values[i]})
		}
	}
}

// preloadAtomics tells the window what the base says of the keys that r's atomic
// operations need and the window does not know. The operations overwrite it.
//
// A value of r's inputs was current at the version of the inputs. The window has
// every later write that it has not forgotten. So where it does not know the key,
// and has forgotten nothing later than that version, the value is still current.
func (c *Committer) preloadAtomics(r *request) error {
	for i := range r.inputs.values {
		in := &r.inputs.values[i]
		if err := c.window.Preload(in.key, in.value, r.inputs.version); err != nil {
			return err
		}
	}
	return nil
}
