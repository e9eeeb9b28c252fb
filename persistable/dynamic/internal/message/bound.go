// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// bound is one bound of a field.
type bound struct {
	text   string // as people write it
	whole  bool   // of the list or map, not of its elements
	breaks func(v any) bool
	shown  func(v any) any // what schema.Broken takes
}

func (b *bound) setLength(f *Field, literal string) error {
	most, err := strconv.Atoi(literal)
	b.whole = f.IsList() || f.IsMap()
	if b.whole {
		b.shown = func(v any) any { return lengthOf(v) }
	}
	b.breaks = func(v any) bool { return lengthOf(v) > most }
	return err
}

// lengthOf returns the length that maxlen bounds.
func lengthOf(v any) int {
	switch x := v.(type) {
	case string:
		return utf8.RuneCountInString(x)
	case []byte:
		return len(x)
	case []any:
		return len(x)
	case []Entry:
		return len(x)
	}
	return 0
}

func (b *bound) setMatch(literal string) error {
	pattern, err := strconv.Unquote(literal)
	if err != nil {
		return err
	}
	compiled, err := regexp.Compile(pattern)
	b.breaks = func(v any) bool {
		text, ok := v.(string)
		return ok && !compiled.MatchString(text)
	}
	return err
}

// setLimit sets a least or greatest value. NaN is within no bounds.
func (b *bound) setLimit(f *Field, option, literal string) error {
	limit, err := schema.ParseDefault(f.Kind.Base, literal)
	if n, ok := limit.(float64); ok && f.Kind.Base == "float" {
		limit = float32(n) // as Go's compiler rounds it
	}
	b.breaks = func(v any) bool {
		if option == "min" {
			return !isAtMost(limit, v)
		}
		return !isAtMost(v, limit)
	}
	return err
}

// isAtMost compares two numbers of one kind.
func isAtMost(a, b any) bool {
	switch x := plain(a).(type) {
	case int64:
		y, ok := plain(b).(int64)
		return ok && x <= y
	case uint64:
		y, ok := plain(b).(uint64)
		return ok && x <= y
	case float64:
		y, ok := plain(b).(float64)
		return ok && x <= y
	}
	return false
}

// plain returns a number in the type that schema.ParseDefault gives numbers of its kind.
func plain(v any) any {
	switch x := v.(type) {
	case float32:
		return float64(x)
	case time.Duration:
		return int64(x)
	}
	return v
}
