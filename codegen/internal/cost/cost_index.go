// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// entryWrites are how many keys one entry of an index writes.
type entryWrites struct {
	create, remove int
	change         int // at most, if the entry becomes another
}

// writesOf says so of each kind. To add to a number and to remove it where it became zero
// are two writes. Five levels of a rank have a count for an element, and one the element.
// A write reads the element's neighbours on these levels, and the element itself.
var writesOf = map[model.IndexKind]entryWrites{
	model.Value:   {1, 1, 2},
	model.Count:   {1, 2, 3},
	model.Sum:     {2, 2, 4},
	model.Rank:    {6, 11, 17},
	model.Version: {2, 3, 3},
}

// costOf is the cost of one index method.
func costOf(d *model.Index, m model.QueryMethod) methodCost {
	ranges := d.Scatter.Ranges()
	switch m.Kind {
	case model.MethodUnique, model.MethodEqual, model.MethodRange, model.MethodOrdered:
		return costOfRecords(d, m)
	case model.MethodCount, model.MethodSum:
		return methodCost{m.Name, "1", "1", "0", "0", "all writes that change the number"}
	case model.MethodCounts, model.MethodSums:
		return methodCost{m.Name, "1", "0", "1", "0", "all writes that change a number"}
	case model.MethodMin, model.MethodMax:
		return methodCost{m.Name, "1", "0", ranges, "0", "the first value found and those before it"}
	case model.MethodRankOf:
		return methodCost{m.Name, "1", "0", "6", "0", "what is before the value"}
	case model.MethodNth:
		return methodCost{m.Name, "2 to 7", "1", "6 to 12", "0", "what is before the record"}
	case model.MethodPercentile:
		return methodCost{m.Name, "3 to 8", "1", "7 to 18", "0", "the whole group"}
	case model.MethodTop:
		return methodCost{m.Name, "2", "n", "1", "0", "the range scanned and the records' keys"}
	default:
		return methodCost{m.Name, "1", "0", ranges, "0", "the range scanned"}
	}
}

// costOfRecords is the cost of a method that returns records.
func costOfRecords(d *model.Index, m model.QueryMethod) methodCost {
	switch {
	case m.Kind == model.MethodUnique && d.Cover:
		return methodCost{m.Name, "1", "1", "0", "0", "the unique key"}
	case m.Kind == model.MethodUnique:
		return methodCost{m.Name, "2", "2", "0", "0", "the unique key and the record's"}
	case d.Cover:
		return methodCost{m.Name, "1", "0", d.Scatter.Ranges(), "0", "the range scanned"}
	}
	return methodCost{m.Name, "2", "n", d.Scatter.Ranges(), "0", "the range scanned and the records' keys"}
}

// remarks are what the legend says of kinds that not all types have.
func remarks(packages []*model.Package) string {
	seen := map[string]bool{}
	for _, p := range packages {
		for _, r := range p.Records {
			for _, d := range r.Indexes {
				seen["where"] = seen["where"] || d.Where != nil
				seen["number"] = seen["number"] || d.Kind == model.Count || d.Kind == model.Sum
				seen[string(d.Kind)] = true
			}
		}
	}
	var b strings.Builder
	for _, one := range []struct{ kind, text string }{
		{"where", "A record that does not fulfil the condition of an index writes nothing there.\n"},
		{"number", "Counts and sums are written without being read, so writes of one group do not conflict.\n"},
		{string(model.Rank), "A rank adds a round to a write that changes it. One value in sixteen writes more keys.\n"},
	} {
		if seen[one.kind] {
			b.WriteString(one.text)
		}
	}
	return b.String()
}
