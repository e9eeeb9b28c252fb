// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// count is a number of keys: some always, some per element of a slice.
type count struct {
	fixed  int
	slices []string
}

func newCount(fixed int) count { return count{fixed: fixed} }

// add counts the entries of one record in an index.
func (c *count) add(d *model.Index) {
	for _, one := range d.Components {
		if one.Slice {
			c.slices = append(c.slices, "len("+one.Name()+")")
			return
		}
	}
	c.fixed++
}

func (c count) String() string {
	parts := append([]string{fmt.Sprint(c.fixed)}, c.slices...)
	return strings.Join(parts, "+")
}
