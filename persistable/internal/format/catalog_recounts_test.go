// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/index"
)

// TestRecountsOfCatalogs: a header has the recount of an index while the index is readable
// in the same layout, and the history does not tell of it.
func TestRecountsOfCatalogs(t *testing.T) {
	count := &index.Definition{Name: "T_count_A", Kind: index.Count, Fields: []string{"A"}, Signature: "int"}
	changed := &index.Definition{Name: "T_count_A", Kind: index.Count, Fields: []string{"A"}, Signature: "string"}
	without := NewCatalog(lockOf(t, "field 1 A int64"), 0, []*index.Definition{count})
	with := without.Clone()
	with.AddRecount(count)
	with.AddRecount(count)
	if names := with.LostRecounts(without); !slices.Equal(names, []string{"T_count_A~recount"}) || with.State(count.Recount()) != index.Disabled {
		t.Fatalf("the recounts are %v", names)
	}
	if !with.Describes(without) || len(with.Indexes()) != 1 {
		t.Error("the history tells of a recount")
	}
	for name, c := range map[string]struct {
		change func(*Catalog)
		stays  bool
	}{
		"nothing":         {func(c *Catalog) { c.SetState(count, index.Readable) }, true},
		"recount built":   {func(c *Catalog) { c.SetState(count.Recount(), index.Building) }, true},
		"disabled":        {func(c *Catalog) { c.SetState(count, index.Disabled) }, false},
		"another layout":  {func(c *Catalog) { c.SetState(changed, index.Readable) }, false},
		"unused":          {func(c *Catalog) { c.RemoveUnused([]*index.Definition{count}) }, false},
		"disabled before": {func(c *Catalog) { c.SetState(count, index.Disabled); c.AddRecount(count) }, false},
	} {
		next := with.Clone()
		if c.change(next); (len(with.LostRecounts(next)) == 0) != c.stays {
			t.Errorf("%s: the recount stays: %v", name, !c.stays)
		}
	}
}
