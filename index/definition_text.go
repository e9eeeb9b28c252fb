// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/tuple"
)

// BoundsText returns what bounds say of the fields, as "Status=1" and "Amount>=20". Of
// a field that is stored in descending order it says what holds of the field. Of a range
// that ends before every key it says "nothing".
func (d *Definition) BoundsText(b Bounds) (texts []string) {
	if b.end != nil && len(b.end) == 0 {
		return []string{"nothing"}
	}
	rest := b.equal
	i := 0
	for ; i < len(d.Fields) && len(rest) > 0; i++ {
		element, behind, err := d.appendAscending(nil, rest, i)
		if err != nil {
			return texts
		}
		texts = append(texts, d.Fields[i]+"="+ElementText(element, d.kind(i)))
		rest = behind
	}
	if i == len(d.Fields) {
		return texts
	}
	if len(b.begin) > len(b.equal) {
		texts = d.appendBound(texts, i, b.begin[len(b.equal):], ">=", ">")
	}
	if end := b.end; len(end) > len(b.equal) {
		texts = d.appendBound(texts, i, end[len(b.equal):], "<", "<=")
	}
	return texts
}

// appendBound appends what one end of a range says of the i-th field: at is the operator
// of a bound at the value, behind that of one behind all keys that have it.
func (d *Definition) appendBound(texts []string, i int, bound []byte, at, behind string) []string {
	element, rest, err := d.appendAscending(nil, bound, i)
	isBehind := len(rest) > 0
	if n := len(bound) - 1; err != nil && bound[n] == afterValue { // read as part of a string
		element, _, err = d.appendAscending(nil, bound[:n], i)
		isBehind = true
	}
	if err != nil {
		return texts
	}
	operator := at
	if isBehind {
		operator = behind
	}
	if d.IsDescending(i) {
		operator = map[string]string{">=": "<=", ">": "<", "<": ">", "<=": ">="}[operator]
	}
	return append(texts, d.Fields[i]+operator+ElementText(element, d.kind(i)))
}

// kind returns the kind of the i-th field; "" if the signature has none.
func (d *Definition) kind(i int) string {
	if kinds := d.Kinds(); i < len(kinds) {
		return kinds[i]
	}
	return ""
}

// ElementText returns a tuple element as text. kind is that of its field in the
// signature of an index: the elements of times are integers.
func ElementText(element []byte, kind string) string {
	t, err := tuple.Unpack(element)
	if err != nil || len(t) != 1 {
		return "?"
	}
	if n, ok := t[0].(int64); ok && strings.TrimLeft(kind, "[]*") == "time" {
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	}
	text := t.String()
	return strings.TrimSuffix(text[1:len(text)-1], ",")
}
