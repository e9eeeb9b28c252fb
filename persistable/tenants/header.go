// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// header is the header of one store: what a directory holds of one type.
type header struct {
	dir   int // into the tree
	typ   string
	value []byte
}

// readStores reads the headers of all stores in the directories.
func readStores(ctx context.Context, tx kv.ReadTransaction, t tree) (all []header, err error) {
	for i := range t {
		if t[i].isPartition() {
			continue
		}
		found, err := headers.Read(ctx, tx, t[i].keys.Begin)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			all = append(all, header{i, h.Type, h.Value})
		}
	}
	return all, nil
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
