// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/kazahana-db/kazahana/kv/embedded/internal/txn"

// submitWithInputs submits a request once memory has the inputs of its atomic
// operations: at once if it has them already. It does not wait.
func (c *committer) submitWithInputs(r *commitRequest) {
	if c.base == nil {
		c.submit(r)
		return
	}
	v := c.head.newest()
	cold, err := r.gatherInputs(v)
	switch {
	case err != nil:
		r.Finisher.Finish(txn.Outcome{Err: err})
	case cold == 0:
		c.submit(r)
	default:
		c.fetchInputs(r, v, cold)
	}
}

// fetchInputs lets goroutines read the inputs that are not at hand. The last of
// them submits the request. Requests that wait for that are bounded as those in
// the queue are.
func (c *committer) fetchInputs(r *commitRequest, v *view, cold int) {
	if waiting := c.fetching.Add(r.Bytes); c.queue.limit > 0 && waiting > max(c.queue.limit, r.Bytes) {
		c.fetching.Add(-r.Bytes)
		r.Finisher.Finish(txn.Outcome{Err: c.tooMany(waiting - r.Bytes)})
		return
	}
	r.inputs.missing.Store(int64(cold))
	for i := range r.inputs.values {
		if r.inputs.values[i].cold {
			c.readers.Start(&inputFetch{c, r, v, &r.inputs.values[i]})
		}
	}
}

// preloadAtomics tells the window what the base says of the keys that r's atomic
// operations need and the window does not know. The operations overwrite it.
//
// A value of r's inputs was current at the version of the inputs. The window has
// every later write that it has not forgotten. So where it does not know the key,
// and has forgotten nothing later than that version, the value is still current.
func (c *committer) preloadAtomics(r *commitRequest) error {
	if len(r.inputs.values) == 0 {
		return nil
	}
	for i := range r.inputs.values {
		in := &r.inputs.values[i]
		if _, k := lookUp(&c.window.entries, in.key); k != unknown {
			continue
		}
		if r.inputs.version < c.forgotten {
			return tooOld(r.inputs.version)
		}
		c.window.preload(in.key, in.value)
	}
	return nil
}
