// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"go/token"
	"strconv"
	"strings"
	"unicode"
)

// typeOptions are what a Type marker says.
type typeOptions struct {
	Name    string // "" if it only scatters
	Scatter Scatter
}

// ParseTypeOptions reads a Type marker: the name, the option scatter, or both.
func ParseTypeOptions(t Tag) (o typeOptions, found []Fault) {
	words := t.Words()
	if len(words) == 0 {
		return o, []Fault{{t.Offset(0), "the type name is empty"}}
	}
	for i, w := range words {
		switch {
		case w.key == "scatter" && (w.hasValue || i > 0):
			if o.Scatter.Shards != 0 {
				found = append(found, Fault{w.Offset, "option scatter is given twice"})
				continue
			}
			s, message := parseScatter(w)
			if message != "" {
				found = append(found, Fault{w.valueOffset(), message})
			}
			o.Scatter = s
		case i > 0:
			found = append(found, Fault{w.Offset, "a persistable.Type marker holds the type's name and the option scatter=N; nothing else" + meantScatter(w)})
		default:
			if message := CheckName(w.Text); message != "" {
				found = append(found, Fault{w.Offset, message})
				continue
			}
			o.Name = w.Text
		}
	}
	return o, found
}

// meantScatter suggests the option scatter for what is nearly it.
func meantScatter(w word) string {
	if text := Suggest(w.key, []string{"scatter="}); strings.Contains(text, "mean") {
		return text
	}
	return ""
}

// maxShards is the largest number of shards, as index.Shards has it.
const maxShards = 256

// Scatter is the option scatter=N of a type or an index: its keys are
// distributed over N shards.
type Scatter struct {
	Shards int // 0: not scattered
	Offset int // of the option in the tag's literal
	At     token.Position
}

// parseScatter reads the value of the option scatter and returns its fault.
func parseScatter(w word) (s Scatter, message string) {
	n, err := strconv.Atoi(w.value)
	if err != nil || n < 2 || n > maxShards || n&(n-1) != 0 || strconv.Itoa(n) != w.value {
		return s, fmt.Sprintf("scatter=%s is not a number of shards; use a power of two from 2 to %d", w.value, maxShards)
	}
	return Scatter{Shards: n, Offset: w.Offset}, ""
}

// Text is the setting as messages and persist.lock write it.
func (s Scatter) Text() string {
	if s.Shards == 0 {
		return "none"
	}
	return strconv.Itoa(s.Shards)
}

// Ranges is how many ranges a query reads.
func (s Scatter) Ranges() string { return strconv.Itoa(max(s.Shards, 1)) }

// Remark is the text after the directory of a scattered type.
func (s Scatter) Remark() string {
	if s.Shards == 0 {
		return ""
	}
	return fmt.Sprintf(", scattered over %d shards", s.Shards)
}

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
