// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/tuple"
)

// header is the header of one store: what a directory holds of one type.
type header struct {
	dir   int // into the tree
	typ   string
	value []byte
}

// headerPrefix begins the keys of headers, and of all else in ("S").
var headerPrefix = tuple.AppendString(nil, "S")

func headerKey(typ string) []byte { return tuple.AppendString(tuple.AppendString(nil, "S"), typ) }

// parseHeaderKey returns the type if a key, relative to its directory, is that of a
// header.
func parseHeaderKey(key []byte) (typ string, is bool) {
	rest, found := strings.CutPrefix(string(key), string(headerPrefix))
	if !found {
		return "", false
	}
	t, err := tuple.Unpack([]byte(rest))
	if err != nil || len(t) != 1 {
		return "", false
	}
	typ, is = t[0].(string)
	return typ, is && string(headerKey(typ)) == string(key)
}

// readStores reads the headers of all stores in the directories.
func readStores(ctx context.Context, tx kv.ReadTransaction, t tree) (all []header, err error) {
	for i := range t {
		if !t[i].isPartition() {
			if all, err = appendStores(ctx, tx, all, i, t[i].keys.Begin); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// appendStores reads the headers in a directory. It leaps over the other keys of each
// type, one round a type.
func appendStores(ctx context.Context, tx kv.ReadTransaction, all []header, dir int, prefix []byte) ([]header, error) {
	rest := kv.PrefixRange(append(append([]byte(nil), prefix...), headerPrefix...))
	for {
		pairs, err := tx.GetRange(rest.Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}).Slice(ctx)
		if err != nil || len(pairs) == 0 {
			return all, err
		}
		key := pairs[0].Key[len(prefix):]
		if typ, is := parseHeaderKey(key); is {
			all = append(all, header{dir, typ, pairs[0].Value})
		}
		end, err := tuple.Skip(key[len(headerPrefix):])
		if err != nil {
			return all, nil // keys of the program's own
		}
		typeEnd, _ := kv.PrefixEnd(pairs[0].Key[:len(pairs[0].Key)-len(end)])
		rest.Begin = typeEnd
	}
}

// checkNames returns a *[RenameError] if an index has the {Field} that is the element of
// paths at depth.
func checkNames(stores []header, depth int) error {
	for _, h := range stores {
		c, err := format.DecodeCatalog(h.value)
		if err != nil {
			return fmt.Errorf("tenants: the store of %s: %w", h.typ, err)
		}
		field := boundField(c.Schema().Type().Directory, depth)
		if field == "" {
			continue
		}
		word := regexp.MustCompile(`(^|\W)` + field + `(\W|$)`)
		for name, layout := range c.Layouts() {
			if word.MatchString(layout) {
				return &RenameError{Type: h.typ, Index: name, Field: field}
			}
		}
	}
	return nil
}

var boundElement = regexp.MustCompile(`^\{(\w+)\}`)

// boundField returns the {Field} that is the i-th element of a type's directory.
func boundField(path string, i int) string {
	elements := strings.Split(path, "/")
	if i >= len(elements) {
		return ""
	}
	match := boundElement.FindStringSubmatch(elements[i])
	if match == nil {
		return ""
	}
	return match[1]
}
