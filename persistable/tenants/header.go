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

// checkNames returns a *[RenameError] if an index has a {Field} that is an element of paths
// whose name changes.
func checkNames(stores []header, changes func(depth int) bool) error {
	for _, h := range stores {
		c, err := format.DecodeCatalog(h.value)
		if err != nil {
			return fmt.Errorf("tenants: the store of %s: %w", h.typ, err)
		}
		for depth, element := range strings.Split(c.Schema().Type().Directory, "/") {
			field := boundElement.FindStringSubmatch(element)
			if field == nil || !changes(depth) {
				continue
			}
			if name := indexOver(c, field[1]); name != "" {
				return &RenameError{Type: h.typ, Index: name, Field: field[1]}
			}
		}
	}
	return nil
}

// indexOver returns the name of an index that has the field; empty if there is none.
func indexOver(c *format.Catalog, field string) string {
	word := regexp.MustCompile(`(^|\W)` + field + `(\W|$)`)
	for name, layout := range c.Layouts() {
		if word.MatchString(layout) {
			return name
		}
	}
	return ""
}

var boundElement = regexp.MustCompile(`^\{(\w+)\}`)
