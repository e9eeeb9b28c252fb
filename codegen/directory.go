// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/token"
	"strings"
)

// partitionLayer is the one directory layer that a Directory marker may ask for.
const partitionLayer = "partition"

// directory is where a record's keys are.
type directory struct {
	at        token.Position
	elements  []pathElement
	partition bool
}

// pathElement is one element of a directory path: a constant name, or the
// value of a field.
type pathElement struct {
	name  string
	field string // Go name; "" for a constant name
	bound *field
	at    int // offset in the tag's literal
	layer string
}

// String is the path as it is written in the marker.
func (d directory) String() string {
	parts := make([]string, len(d.elements))
	for i, e := range d.elements {
		parts[i] = e.name
		if e.field != "" {
			parts[i] = "{" + e.field + "}"
		}
	}
	return strings.Join(parts, "/")
}

// stored is the path as persist.lock and the headers of stores keep it: fields by
// their key-stable names, so that a renamed Go field changes nothing, and two
// fields that change places do.
func (d directory) stored() string {
	parts := make([]string, len(d.elements))
	for i, e := range d.elements {
		parts[i] = e.name
		if e.field != "" {
			parts[i] = "{" + e.bound.name + "}"
		}
		if e.layer != "" {
			parts[i] += "(" + e.layer + ")"
		}
	}
	return strings.Join(parts, "/")
}

// fields returns the distinct fields of the path, in its order.
func (d directory) fields() []*field {
	var list []*field
	seen := map[string]bool{}
	for _, e := range d.elements {
		if e.bound != nil && !seen[e.field] {
			seen[e.field] = true
			list = append(list, e.bound)
		}
	}
	return list
}

// parseDirectory reads a Directory marker.
func parseDirectory(t tag) (d directory, found []fault) {
	bad := func(at int, format string, args ...any) {
		found = append(found, fault{at, fmt.Sprintf(format, args...)})
	}
	words := t.words()
	if len(words) == 0 {
		bad(t.offset(0), "the directory has no path; write its elements with slashes between")
		return d, found
	}
	for _, w := range words[1:] {
		switch {
		case w.key != "layer":
			bad(w.at, "unknown option %s%s", w.key, didYouMean(w.key, []string{"layer="}))
		case w.value != partitionLayer:
			bad(w.valueAt, "unknown layer %s%s", w.value, didYouMean(w.value, []string{partitionLayer}))
		case d.partition:
			bad(w.at, "option layer is given twice")
		default:
			d.partition = true
		}
	}
	offset := strings.Index(t.text, words[0].text)
	for part := range strings.SplitSeq(words[0].text, "/") {
		e, message := parsePathElement(part)
		e.at = t.offset(offset)
		if message != "" {
			bad(e.at, "%s", message)
		}
		d.elements = append(d.elements, e)
		offset += len(part) + 1
	}
	if d.partition && !d.markPartition() && len(found) == 0 {
		bad(words[0].at, "layer=partition makes a partition of the last {Field}'s directory, but the path has no {Field}")
	}
	return d, found
}

// parsePathElement reads one element of a path.
func parsePathElement(part string) (e pathElement, message string) {
	inner, opened := strings.CutPrefix(part, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	switch {
	case part == "":
		return e, "the path has an empty element; remove the slash"
	case opened && closed && token.IsIdentifier(inner):
		e.field = inner
	case strings.ContainsAny(part, "{}"):
		return e, fmt.Sprintf("element %s: a {Field} is a whole element of the path", part)
	default:
		e.name = part
	}
	return e, ""
}

// markPartition gives the last {Field} the partition layer.
func (d *directory) markPartition() bool {
	for i := len(d.elements) - 1; i >= 0; i-- {
		if d.elements[i].field != "" {
			d.elements[i].layer = partitionLayer
			return true
		}
	}
	return false
}
