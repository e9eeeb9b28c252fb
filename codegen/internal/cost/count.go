// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// count is a number of keys: some always, some per element of a slice.
type count struct {
	fixed  int
	slices []sliceCount
}

// sliceCount is how many keys there are for each element of a slice.
type sliceCount struct {
	name string
	n    int
}

func newCount(fixed int) count { return count{fixed: fixed} }

// add counts the writes of one record in an index, of which each entry has n.
func (c *count) add(d *model.Index, n int) {
	for _, one := range d.Components {
		if one.Slice {
			c.addSlice(one.Name(), n)
			return
		}
	}
	c.fixed += n
}

func (c *count) addSlice(name string, n int) {
	i := slices.IndexFunc(c.slices, func(s sliceCount) bool { return s.name == name })
	if i < 0 {
		c.slices = append(c.slices, sliceCount{name, n})
		return
	}
	c.slices[i].n += n
}

// plus returns the count with n keys more.
func (c count) plus(n int) count {
	c.fixed += n
	return c
}

func (c count) String() string {
	text := fmt.Sprint(c.fixed)
	for _, s := range c.slices {
		factor := ""
		if s.n > 1 {
			factor = fmt.Sprintf("%d*", s.n)
		}
		text += fmt.Sprintf("+%slen(%s)", factor, s.name)
	}
	return text
}
