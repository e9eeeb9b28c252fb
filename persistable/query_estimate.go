// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// estimate fills in the keys and bytes of all ranges. It starts all of its reads at once.
func (q *query) estimate(ctx context.Context, t *transaction, o *openStore, p *plan, e *Explanation) error {
	reader := t.Reader
	if !t.isReadOnly() {
		reader = t.snapshot().Reader
	}
	var asked []rangeEstimate
	for i, one := range p.Ranges() {
		keys := o.keysOf(&one)
		e.Ranges[i].Shards = int(keys.Shards)
		asked = append(asked, newRangeEstimate(reader, keys.RangesOf(one.Bounds)))
	}
	for i := range asked {
		r := &e.Ranges[i]
		if err := asked[i].await(ctx, r); err != nil {
			return err
		}
		e.Keys, e.Bytes, e.Exact = e.Keys+r.Keys, e.Bytes+r.Bytes, e.Exact && r.Exact
	}
	return nil
}
