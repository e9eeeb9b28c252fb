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

// add counts the writes of one record in an index, of which each entry has n.
func (c *count) add(d *model.Index, n int) {
	for _, one := range d.Components {
		if one.Slice {
			factor := ""
			if n > 1 {
				factor = fmt.Sprintf("%d*", n)
			}
			c.slices = append(c.slices, factor+"len("+one.Name()+")")
			return
		}
	}
	c.fixed += n
}

func (c count) String() string {
	parts := append([]string{fmt.Sprint(c.fixed)}, c.slices...)
	return strings.Join(parts, "+")
}
