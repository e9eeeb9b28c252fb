// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"go/token"
	"strings"
	"unicode"
)

// partitionLayer is the one directory layer that a Directory marker may ask for.
const partitionLayer = "partition"

// PathElement is one element of a directory path: a constant name, or the
// value of a field.
type PathElement struct {
	Name   string
	Field  string // Go name; "" for a constant name
	Offset int    // offset in the tag's literal
	Layer  string
}

// ParsePath reads a Directory marker.
func ParsePath(t Tag) (path []PathElement, found []Fault) {
	partition := false
	bad := func(at int, format string, args ...any) {
		found = append(found, Fault{at, fmt.Sprintf(format, args...)})
	}
	words := t.Words()
	if len(words) == 0 {
		bad(t.Offset(0), "the directory has no path; write its elements with slashes between")
		return path, found
	}
	for _, w := range words[1:] {
		switch {
		case w.key != "layer":
			bad(w.Offset, "unknown option %s%s", w.key, Suggest(w.key, []string{"layer="}))
		case w.value != partitionLayer:
			bad(w.ValueOffset, "unknown layer %s%s", w.value, Suggest(w.value, []string{partitionLayer}))
		case partition:
			bad(w.Offset, "option layer is given twice")
		default:
			partition = true
		}
	}
	offset := strings.Index(t.text, words[0].Text)
	for part := range strings.SplitSeq(words[0].Text, "/") {
		e, message := parsePathElement(part)
		e.Offset = t.Offset(offset)
		if message != "" {
			bad(e.Offset, "%s", message)
		}
		path = append(path, e)
		offset += len(part) + 1
	}
	if partition && !markPartition(path) && len(found) == 0 {
		bad(words[0].Offset, "layer=partition makes a partition of the last {Field}'s directory, but the path has no {Field}")
	}
	return path, found
}

// parsePathElement reads one element of a path.
func parsePathElement(part string) (e PathElement, message string) {
	inner, opened := strings.CutPrefix(part, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	switch {
	case part == "":
		return e, "the path has an empty element; remove the slash"
	case opened && closed && token.IsIdentifier(inner):
		e.Field = inner
	case strings.ContainsAny(part, "{}"):
		return e, fmt.Sprintf("element %s: a {Field} is a whole element of the path", part)
	case strings.ContainsFunc(part, unicode.IsControl):
		return e, fmt.Sprintf("element %q: a name has no control characters", part)
	default:
		e.Name = part
	}
	return e, ""
}

// markPartition gives the last {Field} the partition layer.
func markPartition(path []PathElement) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Field != "" {
			path[i].Layer = partitionLayer
			return true
		}
	}
	return false
}
