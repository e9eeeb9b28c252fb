// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

// violation is a record whose values another one owns.
type violation struct {
	KeyName string   `json:"keyName"` // of the index
	Fields  []string `json:"fields"`
	Values  string   `json:"values"` // a tuple
	ID      string   `json:"id"`
	Owner   string   `json:"owner"` // the id of the record that is in the index

	named []string // Name = "visits"
}

func newViolation(s *dynamic.Schema, v persistable.Violation) violation {
	shown := violation{v.Index, v.Fields, v.Values.String(), fmt.Sprint(v.ID), fmt.Sprint(v.Owner), nil}
	for i, value := range v.Values {
		if i < len(v.Fields) {
			shown.named = append(shown.named, v.Fields[i]+" = "+valueText(kindOfField(s, v.Fields[i]), value))
		}
	}
	return shown
}

// kindOfField returns the kind of a field or of its elements; "" for one of a nested struct.
func kindOfField(s *dynamic.Schema, name string) string {
	i := slices.IndexFunc(s.Fields, func(f dynamic.Field) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return strings.TrimLeft(s.Fields[i].Kind, "*[]")
}

// valueText returns a value of an index as records show it, where the index has another form of
// it, and otherwise as tuples are shown.
func valueText(kind string, value any) string {
	n, isInteger := value.(int64)
	switch {
	case kind == "time" && isInteger:
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	case kind == "duration" && isInteger:
		return time.Duration(n).String()
	}
	text := tuple.Tuple{value}.String()
	return strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
}

// Lines implements [shell.Result].
func (v violation) Lines() []string {
	return []string{fmt.Sprintf("%s: the records %s and %s have %s; %[2]s is in the index", v.KeyName, v.Owner, v.ID, strings.Join(v.named, ", "))}
}
