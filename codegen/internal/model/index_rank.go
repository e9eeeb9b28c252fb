// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// rankLevels is how many levels of a rank a write looks at, each with a range of its own.
const rankLevels = 5

// Rank keeps the order of the records of a group by a field, with the number of records
// before each. Five levels have a count for an element, and one the element. A write reads
// the element's neighbours on these levels, and the element itself.
var Rank = &IndexKind{
	Name: "rank", Marker: "Rank",
	Measure: MeasureLast, RefuseMeasure: refuseScore,
	Methods: rankMethods,
	Writes:  WriteCost{Create: 6, Remove: 11, Change: 17, Levels: rankLevels, Neighbours: "its neighbours by rank"},
	Remark:  "A rank adds a round to a write that changes it. One value in sixteen writes more keys.\n",
}

// refuseScore returns why records cannot be ranked by a field, or "".
func refuseScore(c *Component, written, typ string) string {
	switch {
	case c.Slice:
		return fmt.Sprintf("%s cannot be ranked: a record has one rank, not one for each element", typ)
	case c.Nullable:
		return fmt.Sprintf("%s may be null, and a null has no rank; rank a field that is not a pointer, and that no pointer leads to", written)
	}
	return ""
}

// rankMethods lists the methods of a Rank.
func rankMethods(d *Index) []QueryMethod {
	last := len(d.Components) - 1
	group, score := d.Components[:last], d.Components[last]
	name, by := score.GoName()+byGroup(group), score.GoName()
	scope, reserved := Scope(group), []string{"n", "p"}
	return []QueryMethod{{
		Name: "RankOf" + name, Kind: MethodCall, Equal: group,
		Call: Call{Function: "RankOf", Reserved: reserved, Value: score, Result: "int64"},
		Doc:  fmt.Sprintf("returns how many of %s have a lesser %s: 0 for the least.", scope, by),
		Cost: ReadCost{"1", "0", "6", "what is before the value"},
	}, {
		Name: "NthBy" + name, Kind: MethodCall, Equal: group,
		Call: Call{Function: "Nth", Reserved: reserved, Parameter: "n", Type: "int64", Result: ResultRecord},
		Doc: fmt.Sprintf("returns the record that has n of %s before it, by %s and then by ID: n = 0 for the\n"+
			"one with the least; or %s.", scope, by, NotFound),
		Cost: ReadCost{"2 to 7", "1", "6 to 12", "what is before the record"},
	}, {
		Name: "TopBy" + name, Kind: MethodCall, Equal: group,
		Call: Call{Function: "Top", Reserved: reserved, Parameter: "n", Type: "int", Result: ResultRecords},
		Doc:  fmt.Sprintf("returns n of %s: those with the greatest %s, the greatest first. An n below 1 is an error.", scope, by),
		Cost: ReadCost{"2", "n", "1", "the range scanned and the records' keys"},
	}, {
		Name: "PercentileOf" + name, Kind: MethodCall, Equal: group,
		Call: Call{Function: "Percentile", Reserved: reserved, Parameter: "p", Type: "float64", Result: ResultRecord},
		Doc: fmt.Sprintf("returns the first record, by %s and then by ID, such that at least p percent of\n"+
			"%s do not come after it; p is from 0 to 100. Without records: %s.", by, scope, NotFound),
		Cost: ReadCost{"3 to 8", "1", "7 to 18", "the whole group"},
	}}
}
