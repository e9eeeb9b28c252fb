// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// entryCheck is the read of an entry that a record must have.
type entryCheck struct {
	index         *index.Index
	id, key, want []byte
	value         kv.Future[[]byte]
}

// comparison compares records with their entries.
type comparison struct {
	*store
	tx     kv.ReadTransaction
	batch  *batch
	checks []entryCheck
	set    index.Set
}

// add starts to read the entries of a record.
func (c *comparison) add(r *record) {
	payload, wrong := c.decode(r)
	if wrong == nil {
		if err := c.gather(&c.set, r.id, payload); err != nil {
			wrong = newFault("record/undecodable", r.key, "%v", err)
		}
	}
	if wrong != nil {
		c.batch.then(func() { c.damaged = true })
		f := c.finding(wrong.code, wrong.key, "%s", wrong.text)
		f.ID = tuple.Describe(r.id)
		c.batch.findings = append(c.batch.findings, f)
		return
	}
	for i := range c.indexes {
		ix := &c.indexes[i]
		if !ix.Kind.HasEntries() {
			continue
		}
		for n := range c.set.Keys(i) {
			key := bytes.Clone(c.set.Key(i, n))
			want := ix.AppendValue(nil, c.set.Record(i, ix, r.indexRecord()))
			c.checks = append(c.checks, entryCheck{ix, r.id, key, want, c.tx.Get(key)})
		}
	}
}

// await waits for the entries, and compares them.
func (c *comparison) await(ctx context.Context) error {
	for _, check := range c.checks {
		value, err := check.value.Get(ctx)
		if err != nil {
			return err
		}
		if f := check.fault(value); f != nil {
			c.batch.findings = append(c.batch.findings, c.entryFinding(f.code, check.index, f.key, check.id, "%s", f.text))
		}
	}
	return nil
}

// fault compares an entry with what it should be.
func (c *entryCheck) fault(value []byte) *fault {
	switch {
	case value == nil:
		return newFault("index/missing-entry", c.key, "the record has no entry")
	case bytes.Equal(value, c.want):
		return nil
	case c.index.Unique:
		owner, _, err := index.SplitUnique(c.index.Definition, c.key, value)
		if err != nil {
			return newFault("index/bad-entry", c.key, "%v", err)
		}
		if !bytes.Equal(owner, c.id) {
			return newFault("index/wrong-owner", c.key, "the entry names the record %s", tuple.Describe(owner))
		}
	}
	return newFault("index/wrong-value", c.key, "the entry holds another copy of the record")
}
