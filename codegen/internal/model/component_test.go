// SPDX-License-Identifier: Apache-2.0

package model

import "testing"

// TestPredicateOfNull: null fulfils no comparison with a value. The text says so, and
// differs from the text for a field that cannot be null, where an absent value is zero.
func TestPredicateOfNull(t *testing.T) {
	field := func(name string, nullable bool) *Component {
		return &Component{Steps: []*Field{{Name: name}}, Nullable: nullable}
	}
	for want, list := range map[string][]Comparison{
		"A=0":                        {{field("A", false), "=", "0"}},
		"A!=null and A=0":            {{field("A", true), "=", "0"}},
		"A!=null":                    {{field("A", true), "!=", Null}},
		"A=null and B!=null and B<5": {{field("B", true), "<", "5"}, {field("A", true), "=", Null}},
		"A!=null and A<5 and A>1":    {{field("A", true), ">", "1"}, {field("A", true), "<", "5"}},
	} {
		if got := NewPredicate(list).Text(); got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
	}
}
