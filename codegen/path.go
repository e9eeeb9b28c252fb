// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/token"
	"strings"
)

// partitionLayer is the one directory layer that a Directory marker may ask for.
const partitionLayer = "partition"

// pathElement is one element of a directory path: a constant name, or the
// value of a field.
type pathElement struct {
	name  string
	field string // Go name; "" for a constant name
	at    int    // offset in the tag's literal
	layer string
}

// parsePath reads a Directory marker.
func parsePath(t tag) (path []pathElement, found []fault) {
	partition := false
	bad := func(at int, format string, args ...any) {
		found = append(found, fault{at, fmt.Sprintf(format, args...)})
	}
	words := t.words()
	if len(words) == 0 {
		bad(t.offset(0), "the directory has no path; write its elements with slashes between")
		return path, found
	}
	for _, w := range words[1:] {
		switch {
		case w.key != "layer":
			bad(w.at, "unknown option %s%s", w.key, didYouMean(w.key, []string{"layer="}))
		case w.value != partitionLayer:
			bad(w.valueAt, "unknown layer %s%s", w.value, didYouMean(w.value, []string{partitionLayer}))
		case partition:
			bad(w.at, "option layer is given twice")
		default:
			partition = true
		}
	}
	offset := strings.Index(t.text, words[0].text)
	for part := range strings.SplitSeq(words[0].text, "/") {
		e, message := parsePathElement(part)
		e.at = t.offset(offset)
		if message != "" {
			bad(e.at, "%s", message)
		}
		path = append(path, e)
		offset += len(part) + 1
	}
	if partition && !markPartition(path) && len(found) == 0 {
		bad(words[0].at, "layer=partition makes a partition of the last {Field}'s directory, but the path has no {Field}")
	}
	return path, found
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
func markPartition(path []pathElement) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].field != "" {
			path[i].layer = partitionLayer
			return true
		}
	}
	return false
}
