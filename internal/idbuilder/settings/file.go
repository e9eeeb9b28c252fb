// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// mostBytes bounds the size of a file.
const mostBytes = 1 << 16

// file is a configuration in TOML.
type file struct {
	name string
	text string
	tree map[string]any

	ends       []int                  // of lines
	beginnings map[int]*toml.MetaData // that were parsed to find line numbers
}

// readFile reads and parses a file; "" is an empty one.
func readFile(name string) (*file, error) {
	if name == "" {
		return &file{}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if info.Size() > mostBytes {
		return nil, fmt.Errorf("configuration: %s has %d bytes, allowed are %d", name, info.Size(), mostBytes)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return parseFile(name, string(text))
}

func parseFile(name, text string) (*file, error) {
	f := &file{name: name, text: text, ends: lineEnds(text), beginnings: map[int]*toml.MetaData{}}
	if _, err := toml.Decode(text, &f.tree); err != nil {
		return nil, &Error{[]Fault{f.syntaxFault(err)}}
	}
	return f, nil
}

// syntaxFault returns the parser's error without the texts of the file, which may be
// secrets.
func (f *file) syntaxFault(err error) Fault {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return Fault{Key: f.name, Reason: "it is not TOML: " + err.Error()}
	}
	fault := Fault{Key: parse.LastKey, Origin: fmt.Sprintf("%s:%d", f.name, parse.Position.Line), Reason: "it is not TOML: " + parse.Message}
	if fault.Key == "" {
		fault.Key, fault.Origin = fault.Origin, ""
	}
	if k := known[parse.LastKey]; k == nil || isHider(k) {
		fault.Reason = "the file is not TOML from this line: is a value without quotes, or a quote or bracket not closed?"
	}
	return fault
}

func isHider(k *key) bool {
	_, hides := k.kind.(hider)
	return hides
}

// assignments returns the assignments of the file, in its order.
func (f *file) assignments() []assignment {
	var list []assignment
	f.walkValues(f.tree, nil, func(path []string, value any) {
		list = append(list, assignment{
			path: strings.Join(path, "."), raw: value, origin: fmt.Sprintf("%s:%d", f.name, f.lineOf(path)),
			spell: func(path string) string { return path },
		})
	})
	return list
}

// walkValues calls do with each value that is not a table, and with tables where a
// value is expected, in the order of their names.
func (f *file) walkValues(tree map[string]any, above []string, do func(path []string, value any)) {
	names := make([]string, 0, len(tree))
	for name := range tree {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := append(slices.Clone(above), name)
		if below, ok := tree[name].(map[string]any); ok && known[strings.Join(path, ".")] == nil && len(below) > 0 {
			f.walkValues(below, path, do)
		} else if !ok || len(below) > 0 || !isSection(path) {
			do(path, tree[name])
		}
	}
}

// isSection reports whether keys lie below a path.
func isSection(path []string) bool {
	start := strings.Join(path, ".") + "."
	return slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, start) })
}

// lineOf returns the number of the line where a value ends. The parser does not report
// lines, so lineOf looks for the shortest beginning of the file that has the value.
func (f *file) lineOf(path []string) int {
	return 1 + sort.Search(len(f.ends)-1, func(n int) bool {
		for ; n < len(f.ends)-1; n++ { // a beginning that ends within a value is not TOML
			if meta := f.parseFirstLines(n); meta != nil {
				return meta.IsDefined(path...)
			}
		}
		return true
	})
}

// parseFirstLines parses the lines up to the one with the index n. It returns nil if
// they are not TOML.
func (f *file) parseFirstLines(n int) *toml.MetaData {
	meta, parsed := f.beginnings[n]
	if !parsed {
		var tree map[string]any
		if m, err := toml.Decode(f.text[:f.ends[n]], &tree); err == nil {
			meta = &m
		}
		f.beginnings[n] = meta
	}
	return meta
}

// lineEnds returns where lines end.
func lineEnds(text string) (ends []int) {
	for i := range len(text) {
		if text[i] == '\n' {
			ends = append(ends, i+1)
		}
	}
	return append(ends, len(text))
}
