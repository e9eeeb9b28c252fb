// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
)

// findIndex returns which of the type's indexes has a name in keys and entries for records.
func (t *recordType) findIndex(name string) (int, error) {
	i := slices.IndexFunc(t.programs, func(p *reindex.Program) bool { return p.Definition().KeyName() == name })
	if i < 0 {
		return i, t.noIndex(name)
	}
	switch kind := t.programs[i].Definition().Kind; kind {
	case index.Value, index.Rank:
		return i, nil
	default:
		return i, fmt.Errorf("dynamic: the index %s of %s is a %s: it has no order of records", name, t.name, kind)
	}
}

// noIndex says why there is no index with a name.
func (t *recordType) noIndex(name string) error {
	if reason, foreign := t.foreign[name]; foreign {
		return fmt.Errorf("dynamic: the index %s of %s needs the Go code of the type: %s", name, t.name, reason)
	}
	var names []string
	for _, p := range t.programs {
		names = append(names, p.Definition().KeyName())
	}
	if len(names) == 0 {
		return fmt.Errorf("dynamic: %s has no index %q, and no other", t.name, name)
	}
	return fmt.Errorf("dynamic: %s has no index %q; it has %s", t.name, name, strings.Join(names, ", "))
}

// packValues returns the values of the first fields of an index as its keys have them.
func (t *recordType) packValues(d *index.Definition, values []string) (packed []byte, err error) {
	if len(values) > len(d.Fields) {
		return nil, fmt.Errorf("dynamic: the index %s has %d fields (%s), and %d values are given", d.Name, len(d.Fields), strings.Join(d.Fields, ", "), len(values))
	}
	for i, text := range values {
		p, err := t.body.Path(d.Fields[i])
		if err != nil {
			return nil, err
		}
		element, err := parseElement(p, text)
		if err != nil {
			return nil, fmt.Errorf("dynamic: the index %s: %w", d.Name, err)
		}
		from := len(packed)
		if packed = append(packed, element...); d.IsDescending(i) {
			packed = index.Descend(packed, from)
		}
	}
	return packed, nil
}

// parseElement returns a value given as text as a tuple element.
func parseElement(p *message.Path, text string) ([]byte, error) {
	if p.IsNullable() && text == "null" {
		return index.AppendNullable[string](nil, nil, index.AppendString[string]), nil
	}
	if quoted, err := strconv.Unquote(text); err == nil && p.IsNullable() && text[0] == '"' {
		text = quoted
	}
	return p.ParseKey(text)
}
